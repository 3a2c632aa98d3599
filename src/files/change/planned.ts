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
import { turnOf } from './undo.ts'

/** The place of a change: the files and the journal of a workspace, and the session that changes them. */
export interface ChangePlace {
  readonly files: WorkspaceFiles
  readonly journal: Journal
  readonly session: string
}

/** The steps that a change consists of, computed for the present state of the files. */
export interface Planned {
  readonly steps: readonly Step[]
  /** The actions that were asked for, each file with its new content; empty for an undo or a redo. */
  readonly actions: readonly Action[]
  /** The paths that an undo or a redo does not restore, since somebody else has changed them. */
  readonly conflicts: readonly Conflict[]
  /** For an undo, the change to undo; for a redo, the undo that the redo takes back. */
  readonly of?: EndedEntry
}

/**
 * Computes the steps of a change for the present state of the files. If a person has seen the change, only the steps that were shown are
 * allowed.
 * @param together of an undo or a redo, the effects whose changes are turned round together: a conflict in one of them counts for all
 * @throws FileRefusal with the code of the problem; ERR_BASE_CHANGED when something is not as it was shown
 */
export async function planned (change: Change, { files, journal, session }: ChangePlace, together: readonly string[] = []): Promise<Planned> {
  const { shown } = change
  if (change.kind !== 'do') {
    const idOf = (effect: string): string => `${session}.${effect}`
    const asked = { paths: change.paths, of: change.of === undefined ? undefined : idOf(change.of), together: together.map(idOf) }
    const { of, steps, conflicts } = await turnOf(change.kind, await journal.endedOf(session), asked, files)
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
