import { type WorkspaceFiles } from '../workspace-files.ts'
import { type Conflict } from './conflict.ts'
import { type EndedEntry } from './journal.ts'
import { type Step } from './step.ts'
import { inForce, reversalOf, undoneIn } from './undo.ts'

/** What an undo or a redo would come to now. */
export interface DryTurn {
  /** What would be as it was before, or as it was made. */
  readonly files: ReadonlyArray<Pick<Step, 'kind' | 'path'>>
  /** What would be left alone, since somebody else has been there. */
  readonly conflicts: readonly Conflict[]
}

/**
 * Finds what taking changes back, or doing them again, would come to; nothing is written. Of a path that several changes have
 * touched, the first one to be turned round decides: the others find what it leaves.
 * @param entries of the session, the oldest first
 * @param paths what is meant, or what is below
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

/** Whether all that a folder holds goes with a change that is turned round before. */
async function isEmptied (path: string, going: ReadonlySet<string>, files: WorkspaceFiles): Promise<boolean> {
  return (await files.list(path)).every(name => going.has(`${path}/${name}`))
}
