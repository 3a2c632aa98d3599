import { errorCode } from '../base/durable-files.ts'
import { createHash } from 'node:crypto'
import { constants, existsSync, type Stats } from 'node:fs'
import { type FileHandle, lstat, open, readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { DEFAULT_WHITELIST, isProtected, normalisePath, type Whitelist } from './path-rules.ts'

/** Existing clients know these codes (docs/plans.md). */
export type RefusalCode =
  | 'ERR_INVALID_PATH' | 'ERR_PATH_TOO_LONG' | 'PROTECTED_PATH' | 'FORBIDDEN_PATH' | 'PATH_NOT_FOUND'
  | 'ERR_TOO_MANY_ACTIONS' | 'ERR_CONTENT_REQUIRED' | 'ERR_PSEUDO_BINARY' | 'ERR_CONTENT_TOO_LARGE' | 'ERR_ACTION_CONFLICT' | 'ERR_SCHEMA_VALIDATION'
  | 'ERR_FILE_EXISTS' | 'ERR_UPDATE_WITHOUT_BASE' | 'ERR_BASE_CHANGED'
  | 'ERR_EDIT_NOT_FOUND' | 'ERR_EDIT_AMBIGUOUS' | 'ERR_EDIT_OVERLAP' | 'SNAPSHOT_FAILED' | 'APPLY_FAILED_ROLLED_BACK' | 'ROLLBACK_FAILED'
  | 'NOTHING_TO_UNDO' | 'NOTHING_TO_REDO' | 'WORKSPACE_UNKNOWN' | 'WORKSPACE_BUSY' | 'MEMORY_UNUSABLE'

/** The message names the path as the caller did. */
export class FileRefusal extends Error {
  override readonly name = 'FileRefusal'
  readonly code: RefusalCode

  constructor (code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

/** Lets a path begin at a descriptor, as `openat` does: https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html */
export const DESCRIPTORS = '/proc/self/fd'
export const HAS_DESCRIPTORS = existsSync(DESCRIPTORS)

const OPENING = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/** On Linux operations reach the opened folder, whatever is at its path since. Elsewhere each path is checked again after it was opened. */
export class OpenFolder {
  readonly #handle: FileHandle
  readonly #path: string

  private constructor (handle: FileHandle, path: string) {
    this.#handle = handle
    this.#path = HAS_DESCRIPTORS ? `${DESCRIPTORS}/${handle.fd}` : path
  }

  /** @throws errors of the file system; ELOOP or ENOTDIR for a link */
  static async open (path: string): Promise<OpenFolder> {
    const handle = await open(path, OPENING)
    try {
      await assertSame(handle, path)
      return new OpenFolder(handle, path)
    } catch (error) {
      await handle.close()
      throw error
    }
  }

  /** A link is refused. */
  async child (name: string): Promise<OpenFolder> {
    return await OpenFolder.open(this.at(name))
  }

  /** Valid only while the folder is open. */
  at (name: string): string {
    return join(this.#path, name)
  }

  /** Valid only while the folder is open. */
  get path (): string {
    return this.at('.')
  }

  /** Created, renamed and removed entries then survive a crash. */
  async sync (): Promise<void> {
    await this.#handle.sync()
  }

  async chmod (mode: number): Promise<void> {
    await this.#handle.chmod(mode)
  }

  async close (): Promise<void> {
    await this.#handle.close()
  }
}

/** @throws Error with the code ELOOP when somebody has put something else there */
export async function assertSame (handle: FileHandle, path: string): Promise<void> {
  // On Linux nothing else can have been opened: the path begins at an open folder, and a last link is not followed.
  if (HAS_DESCRIPTORS) return
  const [opened, named] = await Promise.all([handle.stat(), lstat(path)])
  if (opened.ino !== named.ino || opened.dev !== named.dev) throw Object.assign(new Error(`${path} was exchanged while it was opened`), { code: 'ELOOP' })
}

/** In bytes. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

/** null for nothing, 'folder', or the SHA-256 of a file's bytes in hex. */
export type ContentHash = null | 'folder' | (string & {})

export interface FileState {
  readonly mark: ContentHash
  /** 0 when nothing exists at the path. */
  readonly mode: number
  /** In bytes; 0 when there is no file. */
  readonly size: number
}

export const ABSENT: FileState = { mark: null, mode: 0, size: 0 }

/** The file or folder need not exist. */
export interface OpenPath {
  readonly folder: OpenFolder
  readonly name: string
  /** Valid only while `folder` is open. */
  readonly at: string
}

interface WorkspaceFilesOptions {
  readonly root: string
  /** Nobody may read these, even when they are inside the workspace. */
  readonly hidden?: readonly string[]
  /** @default `DEFAULT_WHITELIST` */
  readonly whitelist?: Whitelist
}

/** Nothing leaves the workspace: paths are resolved first, then each folder is opened from the root, and no link that comes in between is followed. */
export class WorkspaceFiles {
  readonly #options: WorkspaceFilesOptions
  #roots: Promise<{ readonly root: string, readonly hidden: readonly string[] }> | undefined

  constructor (options: WorkspaceFilesOptions) {
    this.#options = options
  }

  get whitelist (): Whitelist {
    return this.#options.whitelist ?? DEFAULT_WHITELIST
  }

  /** Replaces links. The file need not exist. @throws FileRefusal ERR_INVALID_PATH, ERR_PATH_TOO_LONG, PROTECTED_PATH, FORBIDDEN_PATH */
  async resolve (named: string): Promise<string> {
    const normal = normalisePath(named)
    if ('code' in normal) throw new FileRefusal(normal.code, normal.message)
    if (isProtected(normal.path)) throw protectedPath(named)
    const path = await this.#withoutLinks(normal.path)
    if (path === undefined) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(named)} leads out of the workspace`)
    if (isProtected(path) || await this.isHidden(path)) throw protectedPath(named)
    return path
  }

  async isHidden (path: string): Promise<boolean> {
    const { root, hidden } = await this.roots()
    return hidden.some(folder => isInside(folder, join(root, path)))
  }

  /** The last part can still be a link, which is never followed. */
  async #withoutLinks (path: string): Promise<string | undefined> {
    const { root } = await this.roots()
    const parts = path.split('/')
    for (let count = parts.length - 1; count >= 0; count--) {
      try {
        const parent = await realpath(join(root, ...parts.slice(0, count)))
        if (!isInside(root, parent)) return undefined
        return [...relative(root, parent).split(sep), ...parts.slice(count)].filter(part => part !== '').join('/')
      } catch (error) {
        // These paths are refused later by the code that opens them.
        if (!['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'EACCES'].includes(errorCode(error))) throw error
      }
    }
    throw new FileRefusal('PATH_NOT_FOUND', 'the folder of the workspace is gone')
  }

  /** The path has no links. @throws FileRefusal PATH_NOT_FOUND, FORBIDDEN_PATH */
  async within<T> (path: string, use: (spot: OpenPath) => Promise<T>): Promise<T> {
    const parts = path.split('/')
    const name = parts.pop() as string
    let folder = await this.openRoot()
    try {
      for (const part of parts) {
        const child = await folder.child(part).catch((error: unknown) => { throw refusalOf(error, path) })
        await folder.close()
        folder = child
      }
      return await use({ folder, name, at: folder.at(name) })
    } finally {
      await folder.close()
    }
  }

  async openRoot (): Promise<OpenFolder> {
    return await OpenFolder.open((await this.roots()).root)
  }

  /** The path has no links. @throws FileRefusal PATH_NOT_FOUND, FORBIDDEN_PATH, ERR_CONTENT_TOO_LARGE */
  async read (path: string): Promise<{ readonly bytes: Buffer, readonly stats: Stats }> {
    return await this.within(path, spot => readFileAt(spot, path))
  }

  /** @throws FileRefusal FORBIDDEN_PATH when the path is a link all the same, or anything but a file or a folder */
  async now (path: string): Promise<FileState> {
    try {
      return await this.within(path, spot => fileStateAt(spot, path))
    } catch (error) {
      if (error instanceof FileRefusal && error.code === 'PATH_NOT_FOUND') return ABSENT
      throw error
    }
  }

  /** Sorted; the caller has replaced the path's links. */
  async list (path: string): Promise<string[]> {
    return await this.within(path, async ({ folder, name }) => {
      const opened = await folder.child(name).catch((error: unknown) => { throw refusalOf(error, path) })
      try {
        return (await readdir(opened.path)).sort()
      } finally {
        await opened.close()
      }
    })
  }

  /** With links replaced. */
  async roots (): Promise<{ readonly root: string, readonly hidden: readonly string[] }> {
    this.#roots ??= (async () => {
      const { root, hidden = [] } = this.#options
      return { root: await realpath(root), hidden: await Promise.all(hidden.map(folder => realpath(folder).catch(() => folder))) }
    })()
    return await this.#roots.catch((error: unknown) => {
      this.#roots = undefined
      throw refusalOf(error, '.')
    })
  }
}

/** In hex. */
export function sha256 (bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function readFileAt ({ at }: OpenPath, path: string): Promise<{ readonly bytes: Buffer, readonly stats: Stats }> {
  // O_NONBLOCK keeps the call from waiting when the path is a pipe.
  const handle = await open(at, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: unknown) => { throw refusalOf(error, path) })
  try {
    await assertSame(handle, at)
    const stats = await handle.stat()
    assertPlain(stats, path)
    const bytes = Buffer.allocUnsafe(stats.size + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read) read = (await handle.read(bytes, length)).bytesRead
    if (length > stats.size) throw new FileRefusal('ERR_BASE_CHANGED', `${JSON.stringify(path)} grew while it was read`)
    return { bytes: bytes.subarray(0, length), stats }
  } finally {
    await handle.close()
  }
}

/** @throws FileRefusal for a folder, a pipe and the like, a hard link, and a file that is too large */
function assertPlain (stats: Stats, path: string): void {
  if (stats.isDirectory()) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is a folder, not a file`)
  if (!stats.isFile()) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no plain file`)
  // A hard link perhaps has another name that is protected or outside the workspace.
  if (stats.nlink > 1) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} has another name (it is a hard link)`)
  if (stats.size > MAX_FILE_BYTES) {
    throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `${JSON.stringify(path)} has ${stats.size} bytes; at most ${MAX_FILE_BYTES} are read`)
  }
}

export async function fileStateAt (spot: OpenPath, path: string): Promise<FileState> {
  const stats = await lstat(spot.at).catch((error: unknown) => {
    if (errorCode(error) === 'ENOENT') return undefined
    throw refusalOf(error, path)
  })
  if (stats === undefined) return ABSENT
  if (stats.isDirectory()) return { mark: 'folder', mode: stats.mode & 0o7777, size: 0 }
  if (stats.isSymbolicLink()) throw isLink(path)
  const read = await readFileAt(spot, path)
  return { mark: sha256(read.bytes), mode: read.stats.mode & 0o7777, size: read.bytes.length }
}

/** Other errors, such as one of a broken disk, stay as they are. */
export function refusalOf (error: unknown, path: string): unknown {
  switch (errorCode(error)) {
    case 'ENOENT': return new FileRefusal('PATH_NOT_FOUND', `there is no ${JSON.stringify(path)}`)
    case 'ENOTDIR': return new FileRefusal('FORBIDDEN_PATH', `a part of ${JSON.stringify(path)} is no folder, or a link`)
    case 'ELOOP': return isLink(path)
    case 'ENAMETOOLONG': return new FileRefusal('ERR_PATH_TOO_LONG', `a part of ${JSON.stringify(path)} is longer than the file system allows`)
    case 'ENXIO': return new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no plain file`)
    case 'EACCES': case 'EPERM': return new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} may not be touched by this process`)
    default: return error
  }
}

function isLink (path: string): FileRefusal {
  return new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is a link, or on its way is one`)
}

function protectedPath (named: string): FileRefusal {
  return new FileRefusal('PROTECTED_PATH', `${JSON.stringify(named)} is protected: it is neither read, written nor deleted`)
}

function isInside (folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
