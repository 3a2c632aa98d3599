import { constants, existsSync } from 'node:fs'
import { lstat, open, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'

/** Linux lets a path begin at an open folder, as `openat` does: https://man7.org/linux/man-pages/man5/proc_pid_fd.5.html */
export const DESCRIPTORS = '/proc/self/fd'
export const HAS_DESCRIPTORS = existsSync(DESCRIPTORS)

const OPENING = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW

/**
 * A folder that is open. On Linux every operation on its entries reaches the folder that was opened, wherever its path leads
 * by then, so nobody can put a link in its place. On other systems each path is looked at again when it has been opened.
 */
export class OpenFolder {
  readonly #handle: FileHandle
  readonly #path: string

  private constructor (handle: FileHandle, path: string) {
    this.#handle = handle
    this.#path = HAS_DESCRIPTORS ? `${DESCRIPTORS}/${handle.fd}` : path
  }

  /** @param path absolute @throws what the file system throws; ELOOP or ENOTDIR for a link */
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

  /** Opens a folder in it, which is no link. @param name one part of a path */
  async child (name: string): Promise<OpenFolder> {
    return await OpenFolder.open(this.at(name))
  }

  /** The path of something in it, for one call of the file system, while the folder is open. */
  at (name: string): string {
    return join(this.#path, name)
  }

  /** The path of the folder itself, likewise. */
  get path (): string {
    return this.at('.')
  }

  /** Brings the names of its entries to the disk. */
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

/** @throws Error when the path names something else than what was opened: somebody has put something else there */
export async function assertSame (handle: FileHandle, path: string): Promise<void> {
  // The path begins at an open folder, and its last part is not followed when it is a link: it cannot have led elsewhere.
  if (HAS_DESCRIPTORS) return
  const [opened, named] = await Promise.all([handle.stat(), lstat(path)])
  if (opened.ino !== named.ino || opened.dev !== named.dev) throw Object.assign(new Error(`${path} was exchanged while it was opened`), { code: 'ELOOP' })
}
