import { type WorkspaceFiles } from '../workspace-files.ts'
import { type Conflict } from './conflict.ts'
import { type EndedEntry } from './journal.ts'
import { type Step } from './step.ts'
import { inForce, reversalOf, undoneIn } from './undo.ts'

/** The result that an undo or a redo would have now. */
export interface DryTurn {
  /** The paths that would be restored. */
  readonly files: ReadonlyArray<Pick<Step, 'kind' | 'path'>>
  /** The paths that would not be restored, since somebody else has changed them. */
  readonly conflicts: readonly Conflict[]
}

/**
 * Computes which files an undo or a redo of several changes would change, without writing. If several changes have touched the same path,
 * one of them decides whether the path would be restored or has a conflict: for an undo the newest change, for a redo the oldest.
 * @param entries changes of the session, the oldest first
 * @param paths only these paths, and what is below them
 */
export async function dryTurn (kind: 'undo' | 'redo', entries: readonly EndedEntry[], paths: readonly string[], files: WorkspaceFiles): Promise<DryTurn> {
  const changes = kind === 'undo' ? inForce(entries) : undoneIn(entries).toReversed().map(entry => ({ entry, steps: entry.steps }))
  const [turned, conflicts, going] = [new Map<string, Step>(), new Map<string, Conflict>(), new Set<string>()]
  for (const { entry, steps: from } of changes) {
    const { steps, conflicts: found } = await reversalOf(entry, from, paths, files)
    for (const conflict of found) {
      if (turned.has(conflict.path) || conflicts.has(conflict.path)) continue
      if (conflict.reason !== 'filled' || !await isEmptied(conflict.path, going, files)) conflicts.set(conflict.path, conflict)
    }
    for (const step of steps) {
      if (conflicts.has(step.path)) continue
      if (!turned.has(step.path)) turned.set(step.path, step)
      if (step.after === null) going.add(step.path)
    }
  }
  return { files: [...turned.values()].filter(({ isAsked }) => isAsked).map(({ kind, path }) => ({ kind, path })), conflicts: [...conflicts.values()] }
}

/**
 * Whether a folder would be empty when it is to be removed.
 * @param going the paths that earlier steps of this undo or redo would remove
 */
async function isEmptied (path: string, going: ReadonlySet<string>, files: WorkspaceFiles): Promise<boolean> {
  return (await files.list(path)).every(name => going.has(`${path}/${name}`))
}
