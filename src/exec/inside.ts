import { realpath } from 'node:fs/promises'
import { resolve, sep } from 'node:path'

/**
 * The true path of a path, read from a folder on. `undefined` for a path that does not exist or leads out of the root.
 * @param root without links
 */
export async function truePathInside (root: string, from: string, path: string): Promise<string | undefined> {
  try {
    const real = await realpath(resolve(from, path))
    return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep) ? real : undefined
  } catch {
    return undefined
  }
}
