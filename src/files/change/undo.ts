import { FileRefusal, type ContentHash, type WorkspaceFiles } from '../workspace-files.ts'
import { marksOf } from './carry-out.ts'
import { type Conflict, conflictOf, foldersOf, isAtOrBelow, reversed, type ChangeStep } from './change-rules.ts'
import { type EndedEntry } from './journal.ts'

interface Reversal {
  readonly of: EndedEntry
  readonly steps: readonly ChangeStep[]
  readonly conflicts: readonly Conflict[]
}

export interface DryTurn {
  readonly files: ReadonlyArray<Pick<ChangeStep, 'kind' | 'path'>>
  readonly conflicts: readonly Conflict[]
}

/** Writes nothing. A path with a conflict in any of the changes would not be restored. `entries`: the oldest first. */
export async function dryTurn (
  kind: 'undo' | 'redo',
  entries: readonly EndedEntry[],
  paths: readonly string[] | undefined,
  files: WorkspaceFiles
): Promise<DryTurn> {
  const changes = kind === 'undo' ? inForce(entries) : undoneIn(entries).toReversed().map(entry => ({ entry, steps: entry.steps }))
  const [turned, conflicts, left] = [new Map<string, ChangeStep>(), new Map<string, Conflict>(), new Map<string, ContentHash>()]
  for (const { entry, steps: from } of changes) {
    const { steps, conflicts: found } = await reversalOf(entry, from, paths, files, left)
    for (const conflict of found) if (!conflicts.has(conflict.path)) conflicts.set(conflict.path, conflict)
    for (const step of steps.filter(({ path }) => !conflicts.has(path))) {
      if (!turned.has(step.path)) turned.set(step.path, step)
      left.set(step.path, step.after)
    }
  }
  const restored = [...turned.values()].filter(({ path, isAsked }) => isAsked && !conflicts.has(path))
  return { files: restored.map(({ kind, path }) => ({ kind, path })), conflicts: [...conflicts.values()] }
}

/**
 * Without paths all is turned round, or nothing if there is a conflict; with paths, what is below them too.
 * @param entries the oldest first
 * @param asked `of`: by default the latest change; a conflict in one of `together` counts for all
 * @throws FileRefusal NOTHING_TO_UNDO, NOTHING_TO_REDO
 */
export async function turnOf (
  kind: 'undo' | 'redo',
  entries: readonly EndedEntry[],
  asked: { readonly paths: readonly string[] | undefined, readonly of: string | undefined, readonly together: readonly string[] },
  files: WorkspaceFiles
): Promise<Reversal> {
  const { paths, together } = asked
  const only = asked.of ?? (together.length === 1 ? together[0] : undefined)
  const turn = kind === 'undo' ? await undoOf(entries, paths, files, only) : await redoOf(entries, paths, files)
  if (together.length < 2) return turn
  const stuck = (await dryTurn(kind, entriesOf(entries, together), paths, files)).conflicts.filter(({ reason }) => reason !== 'filled')
  if (paths === undefined && stuck.length > 0) return { of: turn.of, steps: [], conflicts: stuck }
  const conflicts = [...stuck, ...turn.conflicts.filter(({ path }) => !isIn(stuck, path))]
  return { of: turn.of, steps: turn.steps.filter(({ path }) => !isIn(stuck, path)), conflicts }
}

export function entriesOf (entries: readonly EndedEntry[], ids: readonly string[]): EndedEntry[] {
  return entries.filter(({ id, kind, of = '' }) => kind === 'redo' || ids.includes(kind === 'do' ? id : of))
}

/** A partly undone change counts only if a part of it can still be undone. @throws FileRefusal NOTHING_TO_UNDO */
async function undoOf (entries: readonly EndedEntry[], paths: readonly string[] | undefined, files: WorkspaceFiles, only?: string): Promise<Reversal> {
  for (const { entry, steps, isWhole } of inForce(entries)) {
    if (only !== undefined && entry.id !== only) continue
    const reversal = await reversalOf(entry, steps, paths, files)
    if (isWhole || reversal.steps.some(({ path }) => !isIn(reversal.conflicts, path))) return chosen(reversal, paths)
  }
  // A change that came to nothing, as when a file is written as it is, is taken back by doing nothing.
  const empty = entries.find(({ id, kind, steps }) => id === only && kind === 'do' && steps.every(({ before, after }) => before === after))
  if (empty !== undefined) return { of: empty, steps: [], conflicts: [] }
  throw new FileRefusal('NOTHING_TO_UNDO', 'the session has changed no file that could be put back')
}

/** Only if no change of files came after the undo. @throws FileRefusal NOTHING_TO_REDO */
async function redoOf (entries: readonly EndedEntry[], paths: readonly string[] | undefined, files: WorkspaceFiles): Promise<Reversal> {
  const last = undoneIn(entries).at(-1)
  if (last === undefined) throw new FileRefusal('NOTHING_TO_REDO', 'the session has taken nothing back since it changed files last')
  return chosen(await reversalOf(last, last.steps, paths, files), paths)
}

/** The latest one last. */
function undoneIn (entries: readonly EndedEntry[]): readonly EndedEntry[] {
  const undone: EndedEntry[] = []
  for (const entry of entries) {
    if (entry.kind === 'do') undone.length = 0
    else if (entry.kind === 'undo') undone.push(entry)
    else undone.splice(undone.findIndex(({ id }) => id === entry.of), 1)
  }
  return undone
}

/** The newest first, each with its steps that are not undone. */
function inForce (entries: readonly EndedEntry[]): Array<{ readonly entry: EndedEntry, readonly steps: readonly ChangeStep[], readonly isWhole: boolean }> {
  const byId = new Map(entries.map(entry => [entry.id, entry]))
  const undone = new Map<string, Set<string>>()
  for (const { kind, of = '', steps } of entries) {
    const origin = kind === 'redo' ? byId.get(of)?.of ?? '' : of
    const paths = undone.get(origin) ?? new Set<string>()
    for (const { path } of steps) if (kind === 'undo') paths.add(path); else if (kind === 'redo') paths.delete(path)
    undone.set(origin, paths)
  }
  return entries.filter(({ kind }) => kind === 'do').reverse().flatMap(entry => {
    const real = entry.steps.filter(({ before, after }) => before !== after)
    const steps = real.filter(({ path }) => undone.get(entry.id)?.has(path) !== true)
    return steps.length === 0 ? [] : [{ entry, steps, isWhole: steps.length === real.length }]
  })
}

/** `left`: the states in which earlier steps will have left paths; the others are as on the disk. */
async function reversalOf (
  of: EndedEntry,
  from: readonly ChangeStep[],
  paths: readonly string[] | undefined,
  files: WorkspaceFiles,
  left: ReadonlyMap<string, ContentHash> = new Map()
): Promise<Reversal> {
  const all = reversed(from.filter(({ before, after }) => before !== after))
  const named = await Promise.all(paths?.map(path => files.resolve(path)) ?? [''])
  const wanted = paths === undefined ? all : all.filter(({ path }) => named.some(name => isAtOrBelow(path, name)))
  const marks = new Map([...await marksOf(all, files), ...left])
  const changed = wanted.filter(({ path, before }) => marks.get(path) !== before).map(({ path, before }) => conflictOf(path, before, marks.get(path)))
  // A restored file needs the folders on the way, even if the caller has not named them.
  const needed = new Set(wanted.flatMap(({ path }) => foldersOf(path)))
  const steps = all.filter(step => wanted.includes(step) || (needed.has(step.path) && step.after === 'folder' && marks.get(step.path) === null))
  return { of, steps, conflicts: [...changed, ...await filledFolders(steps.filter(({ path }) => !isIn(changed, path)), files, left)] }
}

/** `steps`: the innermost folder first. */
async function filledFolders (steps: readonly ChangeStep[], files: WorkspaceFiles, left: ReadonlyMap<string, ContentHash>): Promise<Conflict[]> {
  const ways = [...left].map(([path, mark]) => ({ path, after: mark }))
  const going = new Set([...ways, ...steps].filter(({ after }) => after === null).map(({ path }) => path))
  const filled: Conflict[] = []
  for (const { path } of steps.filter(({ before, after }) => before === 'folder' && after === null)) {
    // A folder that an earlier step will make again is not there yet.
    const names = left.get(path) === 'folder' && (await files.now(path)).mark === null ? [] : await files.list(path)
    if (names.every(name => going.has(`${path}/${name}`))) continue
    going.delete(path)
    filled.push({ path, reason: 'filled' })
  }
  return filled
}

/** Without paths one conflict prevents all steps, but a folder that an undo finds filled just stays. */
function chosen ({ of, steps, conflicts }: Reversal, paths: readonly string[] | undefined): Reversal {
  const stays = conflicts.some(({ reason }) => reason !== 'filled' || of.kind !== 'do')
  if (paths === undefined && stays) return { of, steps: [], conflicts }
  return { of, steps: steps.filter(({ path }) => !isIn(conflicts, path)), conflicts }
}

function isIn (conflicts: readonly Conflict[], path: string): boolean {
  return conflicts.some(conflict => conflict.path === path)
}
