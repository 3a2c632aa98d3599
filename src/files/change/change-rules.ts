import { isJsonObject, type Json, type JsonObject, ownField } from '../../base/json.ts'
import { beginningOf, describeKind } from '../../base/text.ts'
import { describeWhitelist, isForbidden, isProtected, isWhitelisted, normalisePath, type Whitelist } from '../path-rules.ts'
import { type ContentHash, FileRefusal, type RefusalCode } from '../workspace-files.ts'

/** What a change of files may be, by its text alone: plans check by these rules what a model writes, and the files what they carry out. */

export const ACTION_KINDS = ['CREATE_FILE', 'CREATE_DIR', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR'] as const

export const ACTION_KINDS_2 = [...ACTION_KINDS, 'EDIT_FILE'] as const

export type ActionKind = typeof ACTION_KINDS[number]

/** In the order in which a change carries them out. */
export const ORDER: readonly ActionKind[] = ['CREATE_DIR', 'CREATE_FILE', 'UPDATE_FILE', 'DELETE_FILE', 'DELETE_DIR']

/** Sizes in bytes (docs/plans.md, How files are changed). */
export const CHANGE_LIMITS = { max_actions: 5000, max_file_bytes: 1024 * 1024, max_total_content_bytes: 5 * 1024 * 1024 } as const

type ChangeLimits = Readonly<Record<keyof typeof CHANGE_LIMITS, number>>

/** The lengths of `search` and `replace` are in UTF-16 units. */
const MAX_EDITS = 100
const MAX_EDIT_TEXT = 20_000

/** Share of unprintable characters from which a content is no text. */
const MAX_UNPRINTABLE = 0.1

/** UTF-16 units of paths in messages, and of an answer. */
const MAX_SHOWN_PATH = 100
const MAX_SHOWN = 60

/** What a model writes of a change, and a journal's caller hands over. */
export interface RequestedAction {
  readonly kind: ActionKind | 'EDIT_FILE'
  readonly path: string
  readonly content?: string
  /** `search` becomes `replace`. */
  readonly edits?: ReadonlyArray<{ readonly search: string, readonly replace: string }>
}

export type Edit = NonNullable<RequestedAction['edits']>[number]

/** `code` is for programs, `message` for the model and the user. */
interface ChangeProblem {
  readonly code: RefusalCode
  readonly message: string
}

/** @param version of the answer's schema: only schema 2 has edits @throws FileRefusal ERR_SCHEMA_VALIDATION */
export function parseAction (value: Json, place: string, version: number): RequestedAction {
  const action = fieldsOf(value, place)
  const kinds: ReadonlyArray<RequestedAction['kind']> = version === 1 ? ACTION_KINDS : ACTION_KINDS_2
  const given = member(action, 'kind')
  const kind = kinds.find(each => each === given)
  if (kind === undefined) throw wrongForm(`${place}.kind`, `one of ${kinds.join(', ')}`, given)
  const path = requiredText(action, 'path', place)
  if (kind === 'EDIT_FILE') {
    return { kind, path, edits: itemsOf(member(action, 'edits'), `${place}.edits`).map((each, index) => parseEdit(each, `${place}.edits[${index}]`)) }
  }
  const content = kind === 'CREATE_FILE' || kind === 'UPDATE_FILE' ? optionalText(action, 'content', place) : undefined
  return { kind, path, ...(content === undefined ? {} : { content }) }
}

function parseEdit (value: Json, place: string): Edit {
  const edit = fieldsOf(value, place)
  return { search: requiredText(edit, 'search', place), replace: requiredText(edit, 'replace', place) }
}

/** By text alone, before any file is read; without `whitelist` the paths are checked later. @returns normalised actions, or the first problem */
export function validateActions (
  actions: readonly RequestedAction[], limits: ChangeLimits, whitelist: Whitelist | undefined
): readonly RequestedAction[] | ChangeProblem {
  const { max_actions: most, max_total_content_bytes: mostBytes } = limits
  if (actions.length > most) return { code: 'ERR_TOO_MANY_ACTIONS', message: `a plan has at most ${most} actions; this one has ${actions.length}` }
  const normal: RequestedAction[] = []
  for (const action of actions) {
    const normalised = normalisePath(action.path)
    if ('code' in normalised) return normalised
    const { path } = normalised
    const problem = (whitelist && problemOfPath(path, !action.kind.endsWith('_DIR'), whitelist)) ?? problemOfContent(action, path, limits)
    if (problem !== undefined) return problem
    normal.push({ ...action, path })
  }
  const bytes = normal.reduce((sum, { content = '' }) => sum + Buffer.byteLength(content), 0)
  if (bytes > mostBytes) return { code: 'ERR_CONTENT_TOO_LARGE', message: `the contents of a plan have at most ${mostBytes} bytes; these have ${bytes}` }
  return (whitelist && conflictAmong(normal)) ?? normal
}

/** @param never what happens to a protected path: never this */
export function problemOfPath (path: string, isFile: boolean, whitelist: Whitelist, never = 'written nor deleted'): ChangeProblem | undefined {
  if (isProtected(path)) return { code: 'PROTECTED_PATH', message: `${quotePath(path)} is protected: it is neither ${never}` }
  if (isFile ? isWhitelisted(path, whitelist) : !isForbidden(path, whitelist)) return undefined
  return { code: 'FORBIDDEN_PATH', message: `${quotePath(path)} is none of the names that may be changed: ${describeWhitelist(whitelist)}` }
}

function problemOfContent ({ kind, content, edits = [] }: RequestedAction, path: string, { max_file_bytes: most }: ChangeLimits): ChangeProblem | undefined {
  if (kind === 'EDIT_FILE') return problemOfEdits(edits, path)
  if (kind !== 'CREATE_FILE' && kind !== 'UPDATE_FILE') return undefined
  if (content === undefined) return { code: 'ERR_CONTENT_REQUIRED', message: `${kind} of ${quotePath(path)} needs "content"` }
  const bytes = Buffer.byteLength(content)
  if (bytes > most) return { code: 'ERR_CONTENT_TOO_LARGE', message: `a file has at most ${most} bytes; ${quotePath(path)} would have ${bytes}` }
  if (!isPseudoBinary(content)) return undefined
  const reason = `it has NUL, half of a character, or more than ${MAX_UNPRINTABLE * 100} % of it cannot be printed`
  return { code: 'ERR_PSEUDO_BINARY', message: `the content of ${quotePath(path)} is no text: ${reason}` }
}

function problemOfEdits (edits: readonly Edit[], path: string): ChangeProblem | undefined {
  if (edits.length === 0) return { code: 'ERR_CONTENT_REQUIRED', message: `EDIT_FILE of ${quotePath(path)} needs "edits"` }
  if (edits.length > MAX_EDITS) {
    return { code: 'ERR_SCHEMA_VALIDATION', message: `a file has at most ${MAX_EDITS} edits; ${quotePath(path)} has ${edits.length}` }
  }
  for (const [index, edit] of edits.entries()) {
    const problem = problemOfEdit(edit, `edits[${index}] of ${quotePath(path)}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

function problemOfEdit ({ search, replace }: Edit, name: string): ChangeProblem | undefined {
  if (search === '') {
    const message = `${name}: "search" is empty; it has the text that is replaced, with enough around it to be found once`
    return { code: 'ERR_SCHEMA_VALIDATION', message }
  }
  if (Math.max(search.length, replace.length) > MAX_EDIT_TEXT) {
    return { code: 'ERR_CONTENT_TOO_LARGE', message: `a text of an edit has at most ${MAX_EDIT_TEXT} characters; ${name} has more` }
  }
  if (isPseudoBinary(replace) || !search.isWellFormed()) return { code: 'ERR_PSEUDO_BINARY', message: `${name} is no text` }
  return undefined
}

/** An unpaired surrogate has no bytes. Unprintable: control characters but line ends and tabs, and U+FFFD for undecodable bytes. */
function isPseudoBinary (content: string): boolean {
  if (content.includes('\0') || !content.isWellFormed()) return true
  let [unprintable, length] = [0, 0]
  for (const point of content) {
    length++
    if (/[\p{Cc}\uFFFD]/u.test(point) && !'\n\r\t'.includes(point)) unprintable++
  }
  return unprintable > length * MAX_UNPRINTABLE
}

function quotePath (path: string): string {
  return JSON.stringify(beginningOf(path, MAX_SHOWN_PATH))
}

/** One path twice, a file as a folder, or a write into a deleted folder. Some file systems take `é` in two Unicode forms for one name. */
export function conflictAmong (
  actions: ReadonlyArray<{ readonly kind: string, readonly path: string }>, nameOf = (path: string): string => path.normalize('NFC')
): ChangeProblem | undefined {
  const known = new Map<string, typeof actions[number]>()
  for (const action of actions) {
    const other = known.get(nameOf(action.path))
    if (other !== undefined) return exclusion(other, action)
    known.set(nameOf(action.path), action)
  }
  for (const [name, action] of known) {
    for (const folder of foldersOf(name)) {
      const above = known.get(folder)
      const excludes = above?.kind === 'DELETE_DIR' ? !action.kind.startsWith('DELETE') : above !== undefined && above.kind !== 'CREATE_DIR'
      if (above !== undefined && excludes) return exclusion(above, action)
    }
  }
  return undefined
}

function exclusion (...actions: Array<{ readonly kind: string, readonly path: string }>): ChangeProblem {
  const [one, other] = actions.map(({ kind, path }) => `${kind} of ${quotePath(path)}`)
  return { code: 'ERR_ACTION_CONFLICT', message: `${one} and ${other} exclude each other` }
}

/** An undo carries out the reverse steps. */
export interface ChangeStep {
  readonly kind: ActionKind
  /** With all symbolic links resolved. */
  readonly path: string
  readonly before: ContentHash
  readonly after: ContentHash
  /** 0 when nothing was there. */
  readonly mode: number
  /** False for folders on the way, and for the entries of a deleted folder. */
  readonly isAsked: boolean
}

const REVERSED: Record<ActionKind, ActionKind> = {
  CREATE_FILE: 'DELETE_FILE',
  DELETE_FILE: 'CREATE_FILE',
  UPDATE_FILE: 'UPDATE_FILE',
  CREATE_DIR: 'DELETE_DIR',
  DELETE_DIR: 'CREATE_DIR'
}

export function reversed (steps: readonly ChangeStep[]): ChangeStep[] {
  return steps.map(step => ({ ...step, kind: REVERSED[step.kind], before: step.after, after: step.before })).reverse()
}

export function isAtOrBelow (path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`)
}

/** The outermost first. */
export function foldersOf (path: string): string[] {
  const parts = path.split('/').slice(0, -1)
  return parts.map((_, index) => parts.slice(0, index + 1).join('/'))
}

export interface Conflict {
  readonly path: string
  /** `there`: something exists where the change has left nothing. `filled`: a folder to remove contains something else. */
  readonly reason: 'changed' | 'gone' | 'there' | 'filled'
}

/** `now` is `undefined` for what no change can have left, such as a link. */
export function conflictOf (path: string, left: ContentHash, now: ContentHash | undefined): Conflict {
  return { path, reason: left === null ? 'there' : now === null ? 'gone' : 'changed' }
}

/** @returns ERR_SCHEMA_VALIDATION */
export function wrongForm (place: string, expected: string, value: Json | undefined): FileRefusal {
  const given = value === undefined ? 'nothing' : typeof value === 'string' ? `"${beginningOf(value, MAX_SHOWN)}"` : describeKind(value)
  return new FileRefusal('ERR_SCHEMA_VALIDATION', `${place}: expected ${expected}, got ${given}`)
}

/** Under a strict schema the model must write null where it would leave a member out. */
export function member (object: JsonObject, name: string): Json | undefined {
  const value = ownField(object, name)
  return value === null ? undefined : value
}

export function fieldsOf (value: Json, place: string): JsonObject {
  if (!isJsonObject(value)) throw wrongForm(place, 'an object', value)
  return value
}

export function itemsOf (value: Json | undefined, place: string): readonly Json[] {
  if (value === undefined) return []
  if (!Array.isArray(value)) throw wrongForm(place, 'an array', value)
  return value as readonly Json[]
}

export function optionalText (object: JsonObject, name: string, place: string): string | undefined {
  const value = member(object, name)
  if (value !== undefined && typeof value !== 'string') throw wrongForm(place === '' ? name : `${place}.${name}`, 'a text', value)
  return value
}

export function requiredText (object: JsonObject, name: string, place: string): string {
  const value = optionalText(object, name, place)
  if (value === undefined) throw wrongForm(`${place}.${name}`, 'a text', value)
  return value
}
