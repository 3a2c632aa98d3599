import { constants } from 'node:fs'
import { open, realpath, stat } from 'node:fs/promises'
import { resolve, sep } from 'node:path'

/** The true path of what a path means, from a folder on; `undefined` for what is not there or outside of the root. @param root without links */
export async function truePathInside (root: string, from: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(resolve(from, path))
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : undefined
  } catch {
    return undefined
  }
}

/** The text of a file inside a root; `undefined` for all that is no such file, no UTF-8, or longer than `limit` bytes. */
export async function readTextInside (root: string, path: string, limit: number): Promise<string | undefined> {
  const real = await truePathInside(root, root, path)
  if (real === undefined) return undefined
  // A FIFO would wait for its other end.
  const file = await open(real, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch(() => undefined)
  if (file === undefined) return undefined
  try {
    const opened = await file.stat()
    if (!opened.isFile() || opened.size > limit) return undefined
    // A folder on the way may have become a link since it was looked at.
    const again = await truePathInside(root, root, path)
    const named = again === undefined ? undefined : await stat(again)
    if (named?.ino !== opened.ino || named.dev !== opened.dev) return undefined
    const bytes = Buffer.alloc(limit + 1)
    const { bytesRead } = await file.read(bytes, 0, limit + 1, 0)
    return bytesRead > limit ? undefined : new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, bytesRead))
  } catch {
    return undefined
  } finally {
    await file.close()
  }
}
