import { FileRefusal } from '../file-refusal.ts'
import { type WorkspaceFiles } from '../workspace-files.ts'
import { marksOf } from './carry-out.ts'
import { type Conflict, conflictOf } from './conflict.ts'
import { type EndedEntry } from './journal.ts'
import { foldersOf, isAtOrBelow, reversed, type Step } from './step.ts'

/** Steps that take a change back, or do it again. */
export interface Reversal {
  readonly of: EndedEntry
  readonly steps: readonly Step[]
  /** What is not as the change has left it. */
  readonly conflicts: readonly Conflict[]
}

/**
 * Finds the change that is taken back next: the last one in force, then the one before it. When a change was taken back in
 * part, its rest comes first, if any of the rest can still be taken back.
 * @param entries of the session, the oldest first
 * @param paths only these paths and what is below them @default all; nothing at all where there are conflicts
 * @param only the id of the only change that is meant
 * @throws FileRefusal NOTHING_TO_UNDO
 */
export async function undoOf (entries: readonly EndedEntry[], paths: readonly string[] | undefined, files: WorkspaceFiles, only?: string): Promise<Reversal> {
  for (const { entry, steps, isWhole } of inForce(entries)) {
    if (only !== undefined && entry.id !== only) continue
    const reversal = await reversalOf(entry, steps, paths, files)
    if (isWhole || reversal.steps.some(({ path }) => !isIn(reversal.conflicts, path))) return chosen(reversal, paths)
  }
  throw new FileRefusal('NOTHING_TO_UNDO', 'the session has changed no file that could be put back')
}

/**
 * Finds the change that is done again: the one that was taken back last, as long as nothing was done since.
 * @throws FileRefusal NOTHING_TO_REDO
 */
export async function redoOf (entries: readonly EndedEntry[], paths: readonly string[] | undefined, files: WorkspaceFiles): Promise<Reversal> {
  const last = undoneIn(entries).at(-1)
  if (last === undefined) throw new FileRefusal('NOTHING_TO_REDO', 'the session has taken nothing back since it changed files last')
  return chosen(await reversalOf(last, last.steps, paths, files), paths)
}

/** What was taken back since files were changed last, the latest last. */
export function undoneIn (entries: readonly EndedEntry[]): readonly EndedEntry[] {
  const undone: EndedEntry[] = []
  for (const entry of entries) {
    if (entry.kind === 'do') undone.length = 0
    else if (entry.kind === 'undo') undone.push(entry)
    else undone.splice(undone.findIndex(({ id }) => id === entry.of), 1)
  }
  return undone
}

/** What of each change is not taken back, the newest first. */
export function inForce (entries: readonly EndedEntry[]): Array<{ readonly entry: EndedEntry, readonly steps: readonly Step[], readonly isWhole: boolean }> {
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

/** The steps that turn a change round as things are now, and what is in their way. */
export async function reversalOf (of: EndedEntry, from: readonly Step[], paths: readonly string[] | undefined, files: WorkspaceFiles): Promise<Reversal> {
  const all = reversed(from.filter(({ before, after }) => before !== after))
  const named = await Promise.all(paths?.map(path => files.resolve(path)) ?? [''])
  const wanted = paths === undefined ? all : all.filter(({ path }) => named.some(name => isAtOrBelow(path, name)))
  const marks = await marksOf(all, files)
  const changed = wanted.filter(({ path, before }) => marks.get(path) !== before).map(({ path, before }) => conflictOf(path, before, marks.get(path)))
  // A file that comes back needs the folders that went with it.
  const needed = new Set(wanted.flatMap(({ path }) => foldersOf(path)))
  const steps = all.filter(step => wanted.includes(step) || (needed.has(step.path) && step.after === 'folder' && marks.get(step.path) === null))
  return { of, steps, conflicts: [...changed, ...await filledFolders(steps.filter(({ path }) => !isIn(changed, path)), files)] }
}

/**
 * The folders that cannot be removed, since they hold more than what is removed.
 * @param steps the innermost folder first
 */
async function filledFolders (steps: readonly Step[], files: WorkspaceFiles): Promise<Conflict[]> {
  const going = new Set(steps.filter(({ after }) => after === null).map(({ path }) => path))
  const filled: Conflict[] = []
  for (const { path } of steps.filter(({ before, after }) => before === 'folder' && after === null)) {
    const names = await files.list(path)
    if (names.every(name => going.has(`${path}/${name}`))) continue
    going.delete(path)
    filled.push({ path, reason: 'filled' })
  }
  return filled
}

/**
 * Where there are conflicts, nothing is taken back unless the caller names paths. A folder that should be removed, but holds
 * something, stays when the rest of an undo is done.
 */
function chosen ({ of, steps, conflicts }: Reversal, paths: readonly string[] | undefined): Reversal {
  const stays = conflicts.some(({ reason }) => reason !== 'filled' || of.kind !== 'do')
  if (paths === undefined && stays) return { of, steps: [], conflicts }
  return { of, steps: steps.filter(({ path }) => !isIn(conflicts, path)), conflicts }
}

function isIn (conflicts: readonly Conflict[], path: string): boolean {
  return conflicts.some(conflict => conflict.path === path)
}
