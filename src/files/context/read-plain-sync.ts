import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs'

const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK

/**
 * The bytes of a file that has one name, and is no link and no pipe.
 * @param most in bytes
 * @param scratch what they are read into, larger than `most`; the bytes are valid until it is used again
 * @returns undefined where there is no such file, or a larger one
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
