import { FileRefusal } from '../file-refusal.ts'
import { describeWhitelist, isForbidden, isProtected, isWhitelisted, type Whitelist } from '../path-rules.ts'
import { ABSENT, sha256, type Now } from '../workspace-files.ts'
import { type Action } from './action.ts'
import { conflictAmong, foldersOf, isAtOrBelow, ORDER, type Step } from './step.ts'

/** The most files and folders in a folder that a change deletes, and their largest total size, in bytes. */
export const MAX_DELETED_FILES = 10_000
export const MAX_DELETED_BYTES = 100 * 1024 * 1024

/** An action of a change (create, update or delete), in whose path all symbolic links are resolved. */
export interface PlacedAction extends Action {
  /** The SHA-256 that the file had when the model read it; `undefined` when it was not read. */
  readonly base: string | undefined
}

/** The input of `manifest`: the actions, and all that it needs to know about the disk, so that it reads nothing itself. */
export interface Wanted {
  readonly actions: readonly PlacedAction[]
  /**
   * The present state of each action's path, of the folders on the way to it, and of all that is in a folder to delete. A path without an
   * entry does not exist.
   */
  readonly now: ReadonlyMap<string, Now>
  /** Whether the file system takes `A` and `a` for the same name. */
  readonly foldsCase: boolean
  /** Whether the update of a file is refused when the model has not read the file. */
  readonly needsBases: boolean
  /** The rule by which the names of a file and of its folders decide whether the change is allowed to write or delete the file. */
  readonly whitelist: Whitelist
}

/**
 * Computes the steps of a change, in this order: make folders, write files, delete files, delete folders from the inside out. Each path
 * has at most one step.
 * @throws FileRefusal with the code of the problem; the caller must then do nothing of the change
 */
export function manifest (wanted: Wanted): Step[] {
  const steps = new Map<string, Step>()
  refuseConflicts(wanted)
  for (const action of ORDER.flatMap(kind => wanted.actions.filter(action => action.kind === kind))) {
    refuseForbidden(action.path, action.kind.endsWith('_FILE'), wanted)
    for (const step of stepsOf(action, wanted)) if (step.isAsked || !steps.has(step.path)) steps.set(step.path, step)
  }
  // Deletions of folders come last, the innermost folder first, so that each is empty by then.
  const all = [...steps.values()]
  const rank = (step: Step): number => step.kind === 'CREATE_FILE' || step.kind === 'UPDATE_FILE' ? 1 : ORDER.indexOf(step.kind)
  const deepFirst = (a: Step, b: Step): number => a.kind === 'DELETE_DIR' && b.kind === 'DELETE_DIR' ? b.path.split('/').length - a.path.split('/').length : 0
  return all.sort((a, b) => rank(a) - rank(b) || deepFirst(a, b))
}

function stepsOf (action: PlacedAction, wanted: Wanted): Step[] {
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

/** The steps that create missing folders on the way to a new file or folder. */
function foldersBefore (path: string, { now }: Wanted): Step[] {
  return foldersOf(path).flatMap(folder => {
    const { mark } = now.get(folder) ?? ABSENT
    if (mark !== null && mark !== 'folder') throw new FileRefusal('ERR_FILE_EXISTS', `${quote(path)} cannot be created: ${quote(folder)} is a file`)
    return mark === 'folder' ? [] : [{ kind: 'CREATE_DIR' as const, path: folder, before: null, after: 'folder' as const, mode: 0, isAsked: false }]
  })
}

/** The steps that delete all that is in a folder. @throws FileRefusal when it holds too much, or one entry that the change is not allowed to delete */
function contentOf (folder: string, wanted: Wanted): Step[] {
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

function refuseConflicts ({ actions, foldsCase }: Wanted): void {
  const [one, other] = conflictAmong(actions, path => nameOf(path, foldsCase)) ?? []
  if (one === undefined || other === undefined) return
  throw new FileRefusal('ERR_ACTION_CONFLICT', `${one.kind} of ${quote(one.path)} and ${other.kind} of ${quote(other.path)} exclude each other`)
}

/** A path in the form in which the file system compares it. */
function nameOf (path: string, foldsCase: boolean): string {
  const name = path.normalize('NFC')
  return foldsCase ? name.toUpperCase().toLowerCase().normalize('NFC') : name
}

function refuseForbidden (path: string, isFile: boolean, { whitelist }: Wanted): void {
  if (isProtected(path)) throw new FileRefusal('PROTECTED_PATH', `${quote(path)} is protected: it is neither read, written nor deleted`)
  if (isFile ? !isWhitelisted(path, whitelist) : isForbidden(path, whitelist)) {
    throw new FileRefusal('FORBIDDEN_PATH', `${quote(path)} is none of the names that may be changed: ${describeWhitelist(whitelist)}`)
  }
}

function refuseMissing (path: string, { mark }: Now, wanted: 'file' | 'folder'): void {
  if (mark === null || (mark === 'folder') !== (wanted === 'folder')) throw new FileRefusal('PATH_NOT_FOUND', `there is no ${wanted} ${quote(path)}`)
}

function refuseChanged (path: string, { mark }: Now, base: string | undefined): void {
  if (base !== undefined && base !== mark) throw new FileRefusal('ERR_BASE_CHANGED', `${quote(path)} has changed since it was read; nothing was written`)
}

function quote (path: string): string {
  return JSON.stringify(path)
}
