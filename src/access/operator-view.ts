import { type ServiceError, targetNotFound, workspaceNotFound } from '../base/errors.ts'
import { type OperatorFile } from '../config/operator.ts'
import { nearMatches } from '../registry/diagnostic/near-matches.ts'
import { type Caller } from './caller.ts'

/**
 * The part of the operator's file (which folders, hosts and commands sessions may reach) that concerns one caller: the targets and workspaces
 * that the caller's name patterns allow, and all of the file's rules for commands.
 */
export function operatorFor ({ workspaces, targets, rules }: OperatorFile, { targets: patterns }: Pick<Caller, 'targets'>): OperatorFile {
  if (patterns === undefined) return { workspaces, targets, rules }
  const allowed = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> => new Map([...all].filter(([name]) => patterns.allows(name)))
  return { workspaces: allowed(workspaces), targets: allowed(targets), rules }
}

/** The error for a target (a machine) that the operator does not offer. */
export function unknownTarget ({ targets }: Pick<OperatorFile, 'targets'>, name: string): ServiceError {
  return targetNotFound(name, nearMatches(name, targets.keys()), [...targets.keys()])
}

/** The error for a workspace (a folder) that the operator does not offer. */
export function unknownWorkspace ({ workspaces }: Pick<OperatorFile, 'workspaces'>, name: string): ServiceError {
  return workspaceNotFound(name, nearMatches(name, workspaces.keys()), [...workspaces.keys()])
}
