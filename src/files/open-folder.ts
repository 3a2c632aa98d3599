import { constants, existsSync } from 'node:fs'
import { lstat, open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

/** The folder by which Linux lets a path begin at an open folder's descriptor, as `openat` does: https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html */
export const DESCRIPTORS = '/proc/self/fd'
export const HAS_DESCRIPTORS = existsSync(DESCRIPTORS)

const OPENING = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * An open folder, for safe operations on its entries. On Linux each operation reaches the folder that was opened, even if somebody has put a
 * link or another folder at the folder's path since. On other systems each path is checked again after it was opened.
 */
export class OpenFolder {
  readonly #handle: FileHandle
  readonly #path: string

  private constructor (handle: FileHandle, path: string) {
    this.#handle = handle
    this.#path = HAS_DESCRIPTORS ? `${DESCRIPTORS}/${handle.fd}` : path
  }

  /** Opens a folder. @param path absolute @throws errors of the file system; ELOOP or ENOTDIR for a link */
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

  /** Opens a folder inside this folder; a link is refused. @param name a name without slashes */
  async child (name: string): Promise<OpenFolder> {
    return await OpenFolder.open(this.at(name))
  }

  /** The path by which the file system reaches an entry of this folder. It is valid only while the folder is open. */
  at (name: string): string {
    return join(this.#path, name)
  }

  /** The path by which the file system reaches this folder itself. It is valid only while the folder is open. */
  get path (): string {
    return this.at('.')
  }

  /** Flushes the folder's list of names to the disk, so that created, renamed and removed entries survive a crash. */
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

/** Checks that a path still names the file or folder that was opened. @throws Error with the code ELOOP when somebody has put something else there */
export async function assertSame (handle: FileHandle, path: string): Promise<void> {
  // On Linux the path begins at an open folder, and a link as the last part of the path is not followed. So nothing else can have been opened.
  if (HAS_DESCRIPTORS) return
  const [opened, named] = await Promise.all([handle.stat(), lstat(path)])
  if (opened.ino !== named.ino || opened.dev !== named.dev) throw Object.assign(new Error(`${path} was exchanged while it was opened`), { code: 'ELOOP' })
}
