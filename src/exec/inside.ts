import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'

/**
 * Resolves a path and all its links; `undefined` for a path that does not exist, or that leads out of the root folder.
 * @param root the folder that the path may not leave, as a path without links
 * @param from the folder to which `path` is relative
 */
export async function truePathInside (root: string, from: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(resolve(from, path))
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : undefined
  } catch {
    return undefined
  }
}
