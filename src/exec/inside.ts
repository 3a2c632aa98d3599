import { realpath } from 'node:fs/promises'
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
