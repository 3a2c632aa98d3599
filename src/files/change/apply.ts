import { makePrivateFolder } from '../../base/durable-files.ts'
import type { JsonObject } from '../../base/json.ts'
import { FileRefusal, sha256, type WorkspaceFiles } from '../workspace-files.ts'
import { type ChangeOutcome, type EndedEntry, type JournalEntry, type ChangeFailure, Journal, LockLost, whileLocked } from './journal.ts'
import { carryOut, ForeignChange, marksOf, removeTemporary, type Work } from './carry-out.ts'
import { type Conflict, reversed, type ChangeStep } from './change-rules.ts'
import {
  changedSince, type FileAction, manifest, parseChange, refuseOtherSteps, refuseUnshown, type RequestedChange, survey, withContents
} from './requested-change.ts'
import { turnOf } from './undo.ts'

export interface ApplyOptions {
  readonly files: WorkspaceFiles
  readonly journal: string
  readonly session: string
  /** `seq.n`: the number of the entry in the session's log, and of the effect in it. A change is carried out once for each effect. */
  readonly effect: string
  readonly change: JsonObject
  /** The effects whose changes are taken back or made again together. @default only this one */
  readonly together?: readonly string[] | undefined
  /** Ends the wait for other changes only: a change that has begun is finished all the same. */
  readonly signal: AbortSignal
}

/** All of a change is done, or nothing. After a kill in the middle, the next process finishes it or takes it back. */
export async function applyChange ({ files, journal: folder, session, effect, change, together, signal }: ApplyOptions): Promise<ChangeOutcome> {
  const id = `${session}.${effect}`
  const journal = new Journal(folder)
  await makePrivateFolder(folder)
  for (;;) {
    try {
      return await whileLocked(folder, signal, async assertHeld => {
        await finishAll(journal, files, assertHeld)
        const ended = await journal.ended(id)
        return ended !== undefined ? outcomeOf(ended) : await begin({ files, journal, session }, id, parseChange(change), together, assertHeld)
      })
    } catch (error) {
      if (error instanceof FileRefusal) return { kind: 'failure', code: error.code, message: error.message }
      // The process that took over the lock, or the next round, finishes the change or takes it back.
      if (!(error instanceof LockLost)) throw error
    }
  }
}

export async function recoverChanges (files: WorkspaceFiles, journal: string, signal: AbortSignal): Promise<void> {
  await makePrivateFolder(journal)
  await whileLocked(journal, signal, assertHeld => finishAll(new Journal(journal), files, assertHeld))
}

async function begin (
  place: ChangePlace, id: string, change: RequestedChange, together: readonly string[] | undefined, assertHeld: () => void
): Promise<ChangeOutcome> {
  const { files, journal } = place
  const entry = { id, at: Date.now(), kind: change.kind, source: id, conflicts: [] }
  const { of, steps, actions, conflicts } = await planned(change, place, together)
  if (change.kind === 'do') {
    const contents = new Map(actions.flatMap(({ content }) => content === undefined ? [] : [[sha256(content), content]]))
    const begun = await snapshot(() => journal.begin({ ...entry, steps }, contentsOf(steps, contents, files)))
    const outcome = await finish(begun, journal, files, assertHeld)
    // If it fails, the next change removes them.
    await journal.prune(Date.now()).catch(() => {})
    return outcome
  }
  if (of === undefined || steps.length === 0) return outcomeOf({ steps, conflicts })
  const begun = await snapshot(() => journal.begin({ ...entry, of: of.id, source: of.source, steps, conflicts }, noContents(), of.images))
  return await finish(begun, journal, files, assertHeld)
}

async function finishAll (journal: Journal, files: WorkspaceFiles, assertHeld: () => void): Promise<void> {
  for (const entry of await journal.unfinished()) {
    await removeTemporary(entry.steps, workOf(entry, journal, files, assertHeld))
    await finish(entry, journal, files, assertHeld)
  }
}

/** When a step fails, all that was done is taken back. */
async function finish (entry: JournalEntry, journal: Journal, files: WorkspaceFiles, assertHeld: () => void): Promise<ChangeOutcome> {
  const work = workOf(entry, journal, files, assertHeld)
  let failure: ChangeFailure | undefined
  try {
    await carryOut(entry.steps, work)
  } catch (error) {
    if (error instanceof LockLost) throw error
    failure = await takeBack(entry, work, error as Error)
  }
  assertHeld()
  await journal.end(entry, failure)
  return outcomeOf({ ...entry, failure })
}

/** A path that somebody else has changed meanwhile stays as it is, and the message names it. */
async function takeBack ({ steps }: JournalEntry, work: Work, reason: Error): Promise<ChangeFailure> {
  await removeTemporary(steps, work)
  const marks = await marksOf(steps, work.files)
  const foreign = new Set([
    ...(reason instanceof ForeignChange ? reason.paths : []),
    ...steps.filter(({ path, before, after }) => ![before, after].includes(marks.get(path) as string | null)).map(({ path }) => path)
  ])
  const back = reversed(steps).filter(({ path, before, after }) => before !== after && marks.get(path) === before)
  try {
    await carryOut(back, { ...work, keepsFilled: true })
  } catch (error) {
    if (error instanceof LockLost) throw error
    await removeTemporary(steps, work)
    const left = await marksOf(back, work.files)
    const changed = back.filter(({ path, after }) => left.get(path) !== after).map(({ path }) => path)
    return {
      kind: 'failure',
      code: 'ROLLBACK_FAILED',
      message: `${reason.message}; not all of it could be put back, ${(error as Error).message}: ${changed.join(', ')} ${changed.length === 1 ? 'is' : 'are'} as changed`
    }
  }
  return {
    kind: 'failure',
    code: 'APPLY_FAILED_ROLLED_BACK',
    message: `${reason.message}; what was changed has been put back${foreign.size === 0 ? '' : `, and left as somebody else has made it: ${[...foreign].join(', ')}`}`
  }
}

function workOf (entry: JournalEntry, journal: Journal, files: WorkspaceFiles, assertHeld: () => void): Work {
  return { files, image: hash => journal.image(entry, hash), tag: sha256(entry.id).slice(0, 12), assertHeld, keepsFilled: entry.kind === 'undo' }
}

async function * contentsOf (
  steps: readonly ChangeStep[], contents: ReadonlyMap<string, Buffer>, files: WorkspaceFiles
): AsyncGenerator<readonly [string, Buffer]> {
  yield * contents
  for (const { path, before, after } of steps) {
    if (before === after || before === null || before === 'folder') continue
    const { bytes } = await files.read(path)
    if (sha256(bytes) !== before) throw new FileRefusal('ERR_BASE_CHANGED', `${JSON.stringify(path)} has changed meanwhile; nothing was written`)
    yield [before, bytes]
  }
}

async function * noContents (): AsyncGenerator<readonly [string, Buffer]> {}

async function snapshot (begin: () => Promise<JournalEntry>): Promise<JournalEntry> {
  try {
    return await begin()
  } catch (error) {
    if (error instanceof FileRefusal) throw error
    throw new FileRefusal('SNAPSHOT_FAILED', `what is there could not be kept, and nothing was written: ${(error as Error).message}`)
  }
}

/** Without paths that nobody asked for, such as folders on the way. */
function outcomeOf (
  { steps, conflicts, failure }: Pick<JournalEntry, 'steps' | 'conflicts'> & { readonly failure?: ChangeFailure | undefined }
): ChangeOutcome {
  if (failure !== undefined) return failure
  const applied = steps.filter(({ isAsked }) => isAsked).map(({ kind, path, before, after }) => ({ kind, path, before, after }))
  return { kind: 'result', result: { applied, ...(conflicts.length > 0 ? { conflicts: conflicts.map(conflict => ({ ...conflict })) } : {}) } }
}

export interface ChangePlace {
  readonly files: WorkspaceFiles
  readonly journal: Journal
  readonly session: string
}

/** `actions` is empty for an undo or a redo. Of a change that a person has seen, only the shown steps are allowed. @throws FileRefusal, ERR_BASE_CHANGED */
export async function planned (change: RequestedChange, { files, journal, session }: ChangePlace, together: readonly string[] = []): Promise<{
  readonly steps: readonly ChangeStep[]
  readonly actions: readonly FileAction[]
  readonly conflicts: readonly Conflict[]
  /** For an undo the change; for a redo the undo that it takes back. */
  readonly of?: EndedEntry
}> {
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
