import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import pLimit from 'p-limit'
import { isJsonObject, type Json, type JsonObject, objectOf, ownField } from '../../base/json.ts'
import { utf8In } from '../../base/text.ts'
import { normalisePath, type Whitelist } from '../path-rules.ts'
import { ABSENT, type ContentHash, FileRefusal, type FileState, sha256, type WorkspaceFiles } from '../workspace-files.ts'
import {
  type ActionKind, CHANGE_LIMITS, type ChangeStep, conflictAmong, type Edit, foldersOf, isAtOrBelow,
  ORDER, parseAction, problemOfPath, validateActions
} from './change-rules.ts'
import { applyEdits } from './edits.ts'

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

/** Files that are open at a time. */
const SIDE_BY_SIDE = 8

/** A file that has changed since it was read gets no content here; `manifest` then refuses the action. @throws FileRefusal */
export async function withContents ({ actions, bases, eol }: Extract<RequestedChange, { kind: 'do' }>, files: WorkspaceFiles): Promise<FileAction[]> {
  const limit = pLimit(SIDE_BY_SIDE)
  const whole = await Promise.all(actions.map(({ edits, ...action }) => limit(async (): Promise<FileAction> => {
    if (action.kind !== 'UPDATE_FILE') return action
    const { content = Buffer.alloc(0) } = action
    const path = await files.resolve(action.path)
    const bytes = await readIfThere(files, path)
    if (bytes === undefined || sha256(bytes) !== baseOf(bases, action.path, path)) return { ...action, content }
    const before = utf8In(bytes)
    if (before === undefined) throw noText(path, edits === undefined ? 'FORBIDDEN_PATH' : 'ERR_EDIT_NOT_FOUND')
    if (edits !== undefined) return { ...action, content: contentFrom(applyEdits(before, edits, path), eol, path) }
    return { ...action, content: contentFrom(asBefore(content.toString(), before, eol), 'keep', path) }
  })))
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

/** An action of a change: it creates, updates or deletes the file or folder at one path. A model or a person has asked for it. */
export interface FileAction {
  readonly kind: ActionKind
  readonly path: string
  readonly content?: Buffer
  /** In place of `content`, which is computed from these when the file is read. */
  readonly edits?: readonly Edit[]
}

/** A file that has changed since is not overwritten. */
type Bases = Readonly<Record<string, string>>

/** @throws FileRefusal for a path that is not allowed, and for what could not be restored: links, pipes, large files */
export async function survey (files: WorkspaceFiles, actions: readonly FileAction[], bases: Bases | undefined): Promise<ManifestInput> {
  const now = new Map<string, FileState>()
  async function look (path: string): Promise<FileState> {
    const known = now.get(path) ?? await files.now(path)
    now.set(path, known)
    return known
  }
  const placed: PlacedAction[] = []
  for (const action of actions) {
    const path = await files.resolve(action.path)
    const base = bases && baseOf(bases, action.path, path)
    placed.push({ ...action, path, base })
    // Nothing exists below a missing folder, or below a file.
    const isReached = await everyOf(foldersOf(path), async folder => (await look(folder)).mark === 'folder')
    if (!isReached) continue
    const { mark } = await look(path)
    if (action.kind === 'DELETE_DIR' && mark === 'folder') await lookBelow(files, path, look)
  }
  return { actions: placed, now, foldsCase: await foldsCase((await files.roots()).root), needsBases: bases !== undefined, whitelist: files.whitelist }
}

async function lookBelow (files: WorkspaceFiles, folder: string, look: (path: string) => Promise<FileState>): Promise<void> {
  let count = 0
  let bytes = 0
  const folders = [folder]
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    for (const name of await files.list(next)) {
      const path = `${next}/${name}`
      if (name.includes('\ufffd')) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} has a name that is not UTF-8`)
      if (await files.isHidden(path)) throw new FileRefusal('PROTECTED_PATH', `${JSON.stringify(path)} is protected: it is neither read, written nor deleted`)
      const { mark, size } = await look(path)
      bytes += size
      if (++count > MAX_DELETED_FILES || bytes > MAX_DELETED_BYTES) {
        throw new FileRefusal(
          'ERR_CONTENT_TOO_LARGE',
          `${JSON.stringify(folder)} holds more than ${MAX_DELETED_FILES} files, or ${MAX_DELETED_BYTES} bytes, the most that is deleted at a time`
        )
      }
      if (mark === 'folder') folders.push(path)
    }
  }
}

export function baseOf (bases: Bases, named: string, path: string): string | undefined {
  const normal = normalisePath(named)
  const name = [named, 'path' in normal ? normal.path : named, path].find(each => Object.hasOwn(bases, each))
  return name === undefined ? undefined : bases[name]
}

/** The folder is looked up by its name in capital or small letters. */
async function foldsCase (root: string): Promise<boolean> {
  const name = basename(root)
  const other = name === name.toUpperCase() ? name.toLowerCase() : name.toUpperCase()
  if (other === name) return dirname(root) !== root && await foldsCase(dirname(root))
  const [mine, its] = await Promise.all([stat(root), stat(join(dirname(root), other)).catch(() => undefined)])
  return its !== undefined && its.ino === mine.ino && its.dev === mine.dev
}

async function everyOf<T> (items: readonly T[], test: (item: T) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (!await test(item)) return false
  return true
}

/** The total size is in bytes. */
const MAX_DELETED_FILES = 10_000
const MAX_DELETED_BYTES = 100 * 1024 * 1024

interface PlacedAction extends FileAction {
  /** `undefined` when the model has not read the file. */
  readonly base: string | undefined
}

/** All that `manifest` needs to know about the disk, so that it reads nothing itself. */
interface ManifestInput {
  readonly actions: readonly PlacedAction[]
  /** With the folders on the way, and what is in a folder to delete. A path without an entry does not exist. */
  readonly now: ReadonlyMap<string, FileState>
  /** Whether the file system takes `A` and `a` for the same name. */
  readonly foldsCase: boolean
  readonly needsBases: boolean
  readonly whitelist: Whitelist
}

/** Folders are made first, and deleted last, from the inside out. Each path has at most one step. @throws FileRefusal; nothing is done then */
export function manifest (wanted: ManifestInput): ChangeStep[] {
  const steps = new Map<string, ChangeStep>()
  refuseConflicts(wanted)
  for (const action of ORDER.flatMap(kind => wanted.actions.filter(action => action.kind === kind))) {
    refuseForbidden(action.path, action.kind.endsWith('_FILE'), wanted)
    for (const step of stepsOf(action, wanted)) if (step.isAsked || !steps.has(step.path)) steps.set(step.path, step)
  }
  // The innermost folder goes first, so that each is empty by then.
  const all = [...steps.values()]
  const rank = (step: ChangeStep): number => step.kind === 'CREATE_FILE' || step.kind === 'UPDATE_FILE' ? 1 : ORDER.indexOf(step.kind)
  const deepFirst = (a: ChangeStep, b: ChangeStep): number => a.kind === 'DELETE_DIR' && b.kind === 'DELETE_DIR'
    ? b.path.split('/').length - a.path.split('/').length
    : 0
  return all.sort((a, b) => rank(a) - rank(b) || deepFirst(a, b))
}

function stepsOf (action: PlacedAction, wanted: ManifestInput): ChangeStep[] {
  const { kind, path, content = Buffer.alloc(0), base } = action
  const now = wanted.now.get(path) ?? ABSENT
  const step = { kind, path, before: now.mark, mode: now.mode, isAsked: true }
  switch (kind) {
    case 'CREATE_DIR':
      if (now.mark !== null && now.mark !== 'folder') {
        throw new FileRefusal('ERR_FILE_EXISTS', `a folder ${quote(path)} cannot be created: a file of that name is there`)
      }
      return [...foldersBefore(path, wanted), { ...step, after: 'folder' }]
    case 'CREATE_FILE':
      if (now.mark !== null) throw new FileRefusal('ERR_FILE_EXISTS', `${quote(path)} cannot be created: it is there already`)
      return [...foldersBefore(path, wanted), { ...step, after: sha256(content) }]
    case 'UPDATE_FILE':
      refuseMissing(path, now, 'file')
      if (wanted.needsBases && base === undefined) throw new FileRefusal('ERR_UPDATE_WITHOUT_BASE', `${quote(path)} was not read before it is updated`)
      refuseChanged(path, now, base)
      return [{ ...step, after: sha256(content) }]
    case 'DELETE_FILE':
      refuseMissing(path, now, 'file')
      refuseChanged(path, now, base)
      return [{ ...step, after: null }]
    case 'DELETE_DIR':
      refuseMissing(path, now, 'folder')
      return [...contentOf(path, wanted), { ...step, after: null }]
  }
}

function foldersBefore (path: string, { now }: ManifestInput): ChangeStep[] {
  return foldersOf(path).flatMap(folder => {
    const { mark } = now.get(folder) ?? ABSENT
    if (mark !== null && mark !== 'folder') throw new FileRefusal('ERR_FILE_EXISTS', `${quote(path)} cannot be created: ${quote(folder)} is a file`)
    return mark === 'folder' ? [] : [{ kind: 'CREATE_DIR' as const, path: folder, before: null, after: 'folder' as const, mode: 0, isAsked: false }]
  })
}

/** @throws FileRefusal for too much, or one entry that may not be deleted */
function contentOf (folder: string, wanted: ManifestInput): ChangeStep[] {
  const content = [...wanted.now].filter(([path, { mark }]) => path !== folder && mark !== null && isAtOrBelow(path, folder))
  const bytes = content.reduce((sum, [, { size }]) => sum + size, 0)
  if (content.length > MAX_DELETED_FILES || bytes > MAX_DELETED_BYTES) {
    throw new FileRefusal(
      'ERR_CONTENT_TOO_LARGE',
      `${quote(folder)} holds ${content.length} files of ${bytes} bytes; at most ${MAX_DELETED_FILES} of ${MAX_DELETED_BYTES} are deleted at a time`
    )
  }
  return content.map(([path, { mark, mode }]) => {
    const isFile = mark !== 'folder'
    refuseForbidden(path, isFile, wanted)
    return { kind: isFile ? 'DELETE_FILE' : 'DELETE_DIR', path, before: mark, after: null, mode, isAsked: false }
  })
}

function refuseConflicts ({ actions, foldsCase }: ManifestInput): void {
  refuseProblem(conflictAmong(actions, path => nameOf(path, foldsCase)))
}

function nameOf (path: string, foldsCase: boolean): string {
  const name = path.normalize('NFC')
  return foldsCase ? name.toUpperCase().toLowerCase().normalize('NFC') : name
}

function refuseForbidden (path: string, isFile: boolean, { whitelist }: ManifestInput): void {
  refuseProblem(problemOfPath(path, isFile, whitelist, 'read, written nor deleted'))
}

function refuseProblem (problem: ReturnType<typeof problemOfPath>): void {
  if (problem !== undefined) throw new FileRefusal(problem.code, problem.message)
}

function refuseMissing (path: string, { mark }: FileState, wanted: 'file' | 'folder'): void {
  if (mark === null || (mark === 'folder') !== (wanted === 'folder')) throw new FileRefusal('PATH_NOT_FOUND', `there is no ${wanted} ${quote(path)}`)
}

function refuseChanged (path: string, { mark }: FileState, base: string | undefined): void {
  if (base !== undefined && base !== mark) throw new FileRefusal('ERR_BASE_CHANGED', `${quote(path)} has changed since it was read; nothing was written`)
}

function quote (path: string): string {
  return JSON.stringify(path)
}
