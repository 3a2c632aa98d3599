import { type WorkspaceFiles } from '../workspace-files.ts'
import { type Action } from './action.ts'
import { type Change } from './change.ts'
import { withContents } from './edited.ts'
import { type Conflict } from './conflict.ts'
import { type EndedEntry, type Journal } from './journal.ts'
import { manifest } from './manifest.ts'
import { changedSince, refuseOtherSteps, refuseUnshown } from './shown.ts'
import { type Step } from './step.ts'
import { survey } from './survey.ts'
import { redoOf, undoOf } from './undo.ts'

/** Where a change is made, and for which session. */
export interface ChangePlace {
  readonly files: WorkspaceFiles
  readonly journal: Journal
  readonly session: string
}

/** What a change does as things are now. */
export interface Planned {
  readonly steps: readonly Step[]
  /** What was wanted, each file with its new content; none of what turns a change round. */
  readonly actions: readonly Action[]
  /** What is not taken back, or not done again. */
  readonly conflicts: readonly Conflict[]
  /** The change that is taken back or done again. */
  readonly of?: EndedEntry
}

/**
 * Finds the steps of a change. For a change that was shown to somebody, only the shown steps count.
 * @throws FileRefusal with the code of what is wrong; ERR_BASE_CHANGED where something is not as it was shown
 */
export async function planned (change: Change, { files, journal, session }: ChangePlace): Promise<Planned> {
  const { shown } = change
  if (change.kind !== 'do') {
    const entries = await journal.endedOf(session)
    const { of, steps, conflicts } = change.kind === 'undo'
      ? await undoOf(entries, change.paths, files, change.of === undefined ? undefined : `${session}.${change.of}`)
      : await redoOf(entries, change.paths, files)
    if (shown !== undefined) refuseOtherSteps(shown, steps)
    return { of, steps, actions: [], conflicts }
  }
  try {
    const actions = await withContents(change, files)
    const wanted = await survey(files, actions, change.bases)
    if (shown !== undefined) refuseUnshown(shown, wanted)
    return { steps: manifest(wanted), actions, conflicts: [] }
  } catch (error) {
    throw shown === undefined ? error : changedSince(error)
  }
}
