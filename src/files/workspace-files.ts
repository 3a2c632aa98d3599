import { createHash } from 'node:crypto'
import { constants, type Stats } from 'node:fs'
import { lstat, open, readdir, realpath } from 'node:fs/promises'
import { join, relative, sep } from 'node:path'
import { errorCode, FileRefusal } from './file-refusal.ts'
import { assertSame, OpenFolder } from './open-folder.ts'
import { DEFAULT_WHITELIST, isProtected, normalisePath, type Whitelist } from './path-rules.ts'

/** Larger files are neither read nor changed, in bytes. */
const MAX_FILE_BYTES = 4 * 1024 * 1024

/** What is at a path: nothing, a folder, or a file with the SHA-256 of its bytes in hex. */
export type Mark = null | 'folder' | (string & {})

/** What is at a path, and what is needed to put it there again. */
export interface Now {
  readonly mark: Mark
  /** Permissions; 0 where nothing is. */
  readonly mode: number
  /** In bytes; 0 for what is no file. */
  readonly size: number
}

export const ABSENT: Now = { mark: null, mode: 0, size: 0 }

/** Where something is, or may be: the open folder, and the name in it. */
export interface Spot {
  readonly folder: OpenFolder
  readonly name: string
  /** For one call of the file system. */
  readonly at: string
}

export interface WorkspaceFilesOptions {
  /** Absolute; a folder. */
  readonly root: string
  /** Folders of the service itself, which nobody may read even where they lie in the workspace. Absolute. */
  readonly hidden?: readonly string[]
  /** What may be written, by name. @default the names of the protocol */
  readonly whitelist?: Whitelist
}

/**
 * The files of one workspace, for callers that must stay inside it. A path is resolved first: it gets the form without links,
 * and is refused if that form leaves the workspace or names something protected. Reading and writing then go from the root
 * on, part by part, and follow no link. So a link that somebody puts there in between leads nowhere.
 */
export class WorkspaceFiles {
  readonly #options: WorkspaceFilesOptions
  #roots: Promise<{ readonly root: string, readonly hidden: readonly string[] }> | undefined

  constructor (options: WorkspaceFilesOptions) {
    this.#options = options
  }

  /** What may be written, by name. */
  get whitelist (): Whitelist {
    return this.#options.whitelist ?? DEFAULT_WHITELIST
  }

  /**
   * The path without links of what somebody names. Nothing need exist there.
   * @throws FileRefusal ERR_INVALID_PATH, ERR_PATH_TOO_LONG, PROTECTED_PATH, FORBIDDEN_PATH
   */
  async resolve (named: string): Promise<string> {
    const normal = normalisePath(named)
    if ('code' in normal) throw new FileRefusal(normal.code, normal.message)
    if (isProtected(normal.path)) throw protectedPath(named)
    const path = await this.#withoutLinks(normal.path)
    if (path === undefined) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(named)} leads out of the workspace`)
    if (isProtected(path) || await this.isHidden(path)) throw protectedPath(named)
    return path
  }

  /** Whether a path leads to or into a folder of the service's own. @param path without links */
  async isHidden (path: string): Promise<boolean> {
    const { root, hidden } = await this.roots()
    return hidden.some(folder => isInside(folder, join(root, path)))
  }

  /** The longest part of the path that exists is made free of links. The last part is opened as it is. */
  async #withoutLinks (path: string): Promise<string | undefined> {
    const { root } = await this.roots()
    const parts = path.split('/')
    for (let count = parts.length - 1; count >= 0; count--) {
      try {
        const parent = await realpath(join(root, ...parts.slice(0, count)))
        if (!isInside(root, parent)) return undefined
        return [...relative(root, parent).split(sep), ...parts.slice(count)].filter(part => part !== '').join('/')
      } catch (error) {
        // What is not there, or is a file where a folder should be, is found out by whoever opens it.
        if (!['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'].includes(errorCode(error))) throw error
      }
    }
    throw new FileRefusal('PATH_NOT_FOUND', 'the folder of the workspace is gone')
  }

  /**
   * Opens the folder that holds something.
   * @param path without links
   * @throws FileRefusal PATH_NOT_FOUND, FORBIDDEN_PATH
   */
  async within<T> (path: string, use: (spot: Spot) => Promise<T>): Promise<T> {
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

  /** The bytes of a file. @param path without links @throws FileRefusal PATH_NOT_FOUND, FORBIDDEN_PATH, ERR_CONTENT_TOO_LARGE */
  async read (path: string): Promise<{ readonly bytes: Buffer, readonly stats: Stats }> {
    return await this.within(path, spot => readFileAt(spot, path))
  }

  /** What is at a path. @param path without links @throws FileRefusal FORBIDDEN_PATH for what is no file and no folder */
  async now (path: string): Promise<Now> {
    try {
      return await this.within(path, spot => nowAt(spot, path))
    } catch (error) {
      if (error instanceof FileRefusal && error.code === 'PATH_NOT_FOUND') return ABSENT
      throw error
    }
  }

  /** The names in a folder, in order. @param path without links */
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

  /** The root and the hidden folders, without links. */
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

/** The SHA-256 of bytes, in hex. */
export function sha256 (bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function readFileAt ({ at }: Spot, path: string): Promise<{ readonly bytes: Buffer, readonly stats: Stats }> {
  // A pipe must not be waited for.
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

/** @throws FileRefusal for what is no file with one name, and not too large */
function assertPlain (stats: Stats, path: string): void {
  if (stats.isDirectory()) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is a folder, not a file`)
  if (!stats.isFile()) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} is no plain file`)
  // Its other name may be a protected one, or outside.
  if (stats.nlink > 1) throw new FileRefusal('FORBIDDEN_PATH', `${JSON.stringify(path)} has another name (it is a hard link)`)
  if (stats.size > MAX_FILE_BYTES) {
    throw new FileRefusal('ERR_CONTENT_TOO_LARGE', `${JSON.stringify(path)} has ${stats.size} bytes; at most ${MAX_FILE_BYTES} are read`)
  }
}

/** What an open folder has under a name. @param path for messages */
export async function nowAt (spot: Spot, path: string): Promise<Now> {
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

/** What an error of the file system says of a path; the error itself where the disk is in trouble. */
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
