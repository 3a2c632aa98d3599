import { stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { normalisePath, type Whitelist } from '../path-rules.ts'
import { ABSENT, FileRefusal, type FileState, sha256, type WorkspaceFiles } from '../workspace-files.ts'
import { type ActionKind, type ChangeStep, conflictAmong, type Edit, foldersOf, isAtOrBelow, ORDER, problemOfPath } from './change-rules.ts'

/** An action of a change: it creates, updates or deletes the file or folder at one path. A model or a person has asked for it. */
export interface FileAction {
  readonly kind: ActionKind
  readonly path: string
  readonly content?: Buffer
  /** In place of `content`, which is computed from these when the file is read. */
  readonly edits?: readonly Edit[]
}

/** A file that has changed since is not overwritten. */
export type Bases = Readonly<Record<string, string>>

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
export interface ManifestInput {
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
  refuse(conflictAmong(actions, path => nameOf(path, foldsCase)))
}

function nameOf (path: string, foldsCase: boolean): string {
  const name = path.normalize('NFC')
  return foldsCase ? name.toUpperCase().toLowerCase().normalize('NFC') : name
}

function refuseForbidden (path: string, isFile: boolean, { whitelist }: ManifestInput): void {
  refuse(problemOfPath(path, isFile, whitelist, 'read, written nor deleted'))
}

function refuse (problem: ReturnType<typeof problemOfPath>): void {
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
