import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { FileRefusal } from '../file-refusal.ts'
import { ABSENT, type Mark, sha256 } from '../workspace-files.ts'
import { type Wanted } from './manifest.ts'
import { foldersOf, type Step } from './step.ts'

/** The state of each path when a change was shown to a person. The person's consent is valid only for this state. */
export type Shown = ReadonlyMap<string, Mark>

/** The largest number of paths that a refusal names. */
const MAX_NAMED = 20

/** The list that a person is shown of a change: each path that it touches, with its state before and after. */
export function shownOf (steps: readonly Step[]): JsonObject[] {
  return steps.filter(({ before, after }) => before !== after).map(({ kind, path, before, after }) => ({ kind, path, before, after }))
}

/** Reads a list that `shownOf` has made. @throws FileRefusal ERR_SCHEMA_VALIDATION */
export function parseShown (given: Json): Shown {
  if (!Array.isArray(given)) throw unreadable()
  return new Map(given.map((each: Json) => {
    const { path, before } = isJsonObject(each) ? each : {}
    if (typeof path !== 'string' || (before !== null && typeof before !== 'string')) throw unreadable()
    return [path, before] as const
  }))
}

/**
 * Refuses a change when something differs from what a person was shown: a path that it touches, a folder on the way, or an entry of a
 * folder to delete.
 * @throws FileRefusal ERR_BASE_CHANGED with the paths
 */
export function refuseUnshown (shown: Shown, { actions, now }: Wanted): void {
  const ways = new Set(actions.flatMap(({ path }) => foldersOf(path)))
  // The shown list leaves out a path that an action does not alter, so the expected state of this path comes from the action.
  const kept = new Map(actions.map(({ kind, path, content }) => [path, kind === 'CREATE_DIR' ? 'folder' : content === undefined ? null : sha256(content)]))
  const expected = (path: string): Mark => shown.get(path) ?? (shown.has(path) ? null : ways.has(path) ? 'folder' : kept.get(path) ?? null)
  refuse([...new Set([...shown.keys(), ...now.keys()])].filter(path => (now.get(path) ?? ABSENT).mark !== expected(path)))
}

/** Refuses an undo or a redo whose steps differ from those that a person was shown. @throws FileRefusal ERR_BASE_CHANGED with the paths */
export function refuseOtherSteps (shown: Shown, steps: readonly Step[]): void {
  const now = new Map(steps.filter(({ before, after }) => before !== after).map(({ path, before }) => [path, before]))
  refuse([...new Set([...shown.keys(), ...now.keys()])].filter(path => shown.has(path) !== now.has(path) || shown.get(path) !== now.get(path)))
}

/**
 * Converts an error of a change that was shown to a person into ERR_BASE_CHANGED. The change was possible when it was shown, so something
 * has changed since.
 */
export function changedSince (error: unknown): unknown {
  return error instanceof FileRefusal && error.code !== 'ERR_BASE_CHANGED'
    ? new FileRefusal('ERR_BASE_CHANGED', `it has changed since it was shown: ${error.message}; nothing was written`)
    : error
}

function refuse (paths: readonly string[]): void {
  if (paths.length === 0) return
  const named = paths.slice(0, MAX_NAMED).map(path => JSON.stringify(path)).join(', ')
  throw new FileRefusal(
    'ERR_BASE_CHANGED',
    `changed since it was shown: ${named}${paths.length > MAX_NAMED ? ` and ${paths.length - MAX_NAMED} more` : ''}; nothing was written`
  )
}

function unreadable (): FileRefusal {
  return new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected as shown a list of paths, with what was there before')
}
