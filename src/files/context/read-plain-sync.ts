import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * Reads a plain file, which is no link, hard link or pipe, synchronously.
 * @param most largest size, in bytes
 * @param scratch a buffer larger than `most` to read into; the result is valid until the buffer is used again
 * @returns undefined when there is no such file, or it is larger
 */
export function readPlainSync (path: string, most: number, scratch?: Buffer): Buffer | undefined {
  let file: number
  try {
    file = openSync(path, FLAGS)
  } catch {
    return undefined
  }
  try {
    const stats = fstatSync(file)
    if (!stats.isFile() || stats.nlink > 1 || stats.size > most) return undefined
    const bytes = scratch ?? Buffer.allocUnsafe(stats.size)
    return bytes.subarray(0, readSync(file, bytes, 0, stats.size, 0))
  } catch {
    return undefined
  } finally {
    closeSync(file)
  }
}
