import { isJsonObject, type Json, type JsonObject, objectOf, ownField } from '../../base/json.ts'
import { utf8In } from '../../base/text.ts'
import { ABSENT, FileRefusal, type ContentHash, sha256, type WorkspaceFiles } from '../workspace-files.ts'
import { CHANGE_LIMITS, type ChangeStep, foldersOf, parseAction, validateActions } from './change-rules.ts'
import { applyEdits } from './edits.ts'
import { baseOf, type Bases, type FileAction, type ManifestInput } from './steps.ts'

/** `keep` leaves line ends as they are in the new text; `lf` also puts one at the end of the file. */
type Eol = 'keep' | 'lf'

/** By text alone: files are looked at just before the write. @throws FileRefusal */
function parseActions (given: Json | undefined, eol: Eol): FileAction[] {
  if (!Array.isArray(given)) throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a list of actions')
  const actions = given.map((each: Json, index) => parseAction(each, `actions[${index}]`, 2))
  const checked = validateActions(actions, CHANGE_LIMITS, undefined)
  if ('code' in checked) throw new FileRefusal(checked.code, checked.message)
  return actions.map(({ kind, path, content, edits }) => {
    return { kind: kind === 'EDIT_FILE' ? 'UPDATE_FILE' : kind, path, edits, content: content === undefined ? undefined : contentFrom(content, eol, path) }
  })
}

/** @throws FileRefusal ERR_CONTENT_TOO_LARGE */
function contentFrom (text: string, eol: Eol, path: string): Buffer {
  const plain = eol === 'keep' ? text : text.replaceAll('\r\n', '\n')
  const bytes = Buffer.from(eol === 'keep' || plain === '' || plain.endsWith('\n') ? plain : `${plain}\n`)
  const { max_file_bytes: most } = CHANGE_LIMITS
  if (bytes.length > most) throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${most} bytes for ${JSON.stringify(path)}, got ${bytes.length}`)
  return bytes
}

/** Edits and line ends can make contents longer. @throws FileRefusal ERR_CONTENT_TOO_LARGE */
function refuseTooLarge (actions: readonly FileAction[]): void {
  const total = actions.reduce((sum, { content }) => sum + (content?.length ?? 0), 0)
  const { max_total_content_bytes: most } = CHANGE_LIMITS
  if (total > most) throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `expected at most ${most} bytes of content in all, got ${total}`)
}

const BYTE_ORDER_MARK = '\ufeff'

/** A file that has changed since it was read gets no content here; `manifest` then refuses the action. @throws FileRefusal */
export async function withContents ({ actions, bases, eol }: Extract<RequestedChange, { kind: 'do' }>, files: WorkspaceFiles): Promise<FileAction[]> {
  const whole = await Promise.all(actions.map(async ({ edits, ...action }): Promise<FileAction> => {
    if (action.kind !== 'UPDATE_FILE') return action
    const { content = Buffer.alloc(0) } = action
    const path = await files.resolve(action.path)
    const bytes = await readIfThere(files, path)
    if (bytes === undefined || sha256(bytes) !== baseOf(bases, action.path, path)) return { ...action, content }
    const before = utf8In(bytes)
    if (before === undefined) throw noText(path, edits === undefined ? 'FORBIDDEN_PATH' : 'ERR_EDIT_NOT_FOUND')
    if (edits !== undefined) return { ...action, content: contentFrom(applyEdits(before, edits, path), eol, path) }
    return { ...action, content: contentFrom(asBefore(content.toString(), before, eol), 'keep', path) }
  }))
  refuseTooLarge(whole)
  return whole
}

/** Models write neither a byte order mark nor line ends. */
function asBefore (text: string, before: string, eol: 'keep' | 'lf'): string {
  const marked = before.startsWith(BYTE_ORDER_MARK) && !text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK + text : text
  const hasCarriageReturns = before.includes('\r\n') && !/(?<!\r)\n/.test(before)
  return eol === 'keep' && hasCarriageReturns ? marked.replace(/\r?\n/g, '\r\n') : marked
}

async function readIfThere (files: WorkspaceFiles, path: string): Promise<Buffer | undefined> {
  try {
    return (await files.read(path)).bytes
  } catch (error) {
    if (error instanceof FileRefusal) return undefined
    throw error
  }
}

function noText (path: string, code: 'FORBIDDEN_PATH' | 'ERR_EDIT_NOT_FOUND'): FileRefusal {
  return new FileRefusal(code, `${JSON.stringify(path)} is no UTF-8 text, so a change of its text would destroy the bytes of other characters`)
}

/** `shown` is the state of the paths to which a person agreed, and has to hold still; `undefined` if nobody had to agree. */
export type RequestedChange = { readonly shown: ConsentedState | undefined } & (
  | { readonly kind: 'do', readonly actions: readonly FileAction[], readonly bases: Bases, readonly eol: Eol }
  /** `paths`: only these and what is below them, else all. `of`: the effect (`seq.n`) to undo, else the latest. */
  | { readonly kind: 'undo' | 'redo', readonly paths: readonly string[] | undefined, readonly of?: string }
)

/** @throws FileRefusal with the code of the problem */
export function parseChange (given: JsonObject): RequestedChange {
  const wish = ownField(given, 'do')
  if (isJsonObject(wish)) {
    const bases = Object.entries(objectOf(ownField(wish, 'bases'))).filter((base): base is [string, string] => typeof base[1] === 'string')
    const eol = ownField(wish, 'eol') === 'lf' ? 'lf' : 'keep'
    return { kind: 'do', actions: parseActions(ownField(wish, 'actions'), eol), bases: Object.fromEntries(bases), eol, shown: shownIn(wish) }
  }
  for (const kind of ['undo', 'redo'] as const) {
    const back = ownField(given, kind)
    const of = ownField(back, 'of')
    if (isJsonObject(back)) return { kind, paths: pathsOf(ownField(back, 'paths')), of: typeof of === 'string' ? of : undefined, shown: shownIn(back) }
  }
  throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected a change with do, undo or redo')
}

function shownIn (wish: JsonObject): ConsentedState | undefined {
  const shown = ownField(wish, 'shown')
  return shown === undefined ? undefined : parseShown(shown)
}

function pathsOf (given: Json | undefined): readonly string[] | undefined {
  if (given === undefined || given === null) return undefined
  if (Array.isArray(given) && given.every(path => typeof path === 'string')) return given
  throw new FileRefusal('ERR_SCHEMA_VALIDATION', 'expected paths as a list of texts')
}

/** A person's consent is valid only for this state. */
type ConsentedState = ReadonlyMap<string, ContentHash>

const MAX_NAMED = 20

export function shownOf (steps: readonly ChangeStep[]): JsonObject[] {
  return steps.filter(({ before, after }) => before !== after).map(({ kind, path, before, after }) => ({ kind, path, before, after }))
}

/** @throws FileRefusal ERR_SCHEMA_VALIDATION */
function parseShown (given: Json): ConsentedState {
  if (!Array.isArray(given)) throw unreadable()
  return new Map(given.map((each: Json) => {
    const { path, before } = objectOf(each)
    if (typeof path !== 'string' || (before !== null && typeof before !== 'string')) throw unreadable()
    return [path, before] as const
  }))
}

/** @throws FileRefusal ERR_BASE_CHANGED with the paths that differ from what a person was shown */
export function refuseUnshown (shown: ConsentedState, { actions, now }: ManifestInput): void {
  const ways = new Set(actions.flatMap(({ path }) => foldersOf(path)))
  // The shown list leaves out a path that an action does not alter, so its expected state comes from the action.
  const kept = new Map(actions.map(({ kind, path, content }) => [path, kind === 'CREATE_DIR' ? 'folder' : content === undefined ? null : sha256(content)]))
  const expected = (path: string): ContentHash => shown.get(path) ?? (shown.has(path) ? null : ways.has(path) ? 'folder' : kept.get(path) ?? null)
  refuse([...new Set([...shown.keys(), ...now.keys()])].filter(path => (now.get(path) ?? ABSENT).mark !== expected(path)))
}

/** @throws FileRefusal ERR_BASE_CHANGED with the paths */
export function refuseOtherSteps (shown: ConsentedState, steps: readonly ChangeStep[]): void {
  const now = new Map(steps.filter(({ before, after }) => before !== after).map(({ path, before }) => [path, before]))
  refuse([...new Set([...shown.keys(), ...now.keys()])].filter(path => shown.has(path) !== now.has(path) || shown.get(path) !== now.get(path)))
}

/** The change was possible when it was shown, so something has changed since. */
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
