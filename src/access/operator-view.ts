import { type OperatorFile } from '../config/operator.ts'
import { type Caller } from './caller.ts'

/** What the operator offers to a caller: no target and no workspace that the caller's token does not name. */
export function operatorFor ({ workspaces, targets, rules }: OperatorFile, { targets: patterns }: Pick<Caller, 'targets'>): OperatorFile {
  if (patterns === undefined) return { workspaces, targets, rules }
  const allowed = <T>(all: ReadonlyMap<string, T>): ReadonlyMap<string, T> => new Map([...all].filter(([name]) => patterns.allows(name)))
  return { workspaces: allowed(workspaces), targets: allowed(targets), rules }
}
