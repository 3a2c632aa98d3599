import { join } from 'node:path'
import createIgnore, { type Ignore } from 'ignore'
import { isCheapPattern } from './glob.ts'
import { readPlainSync } from './read-plain-sync.ts'

/** The largest `.gitignore` that is read, in bytes. */
const MAX_BYTES = 64 * 1024

/** The rules of the `.gitignore` in a folder, if there is one. */
export interface Gitignore {
  /** The path of the folder, relative to the workspace. */
  readonly path: string
  readonly rules: Ignore | undefined
}

/** Reads the `.gitignore` of a folder. @param at path by which the folder can be opened now @param path the folder's path, relative to the workspace */
export function gitignoreIn (at: string, path: string): Gitignore {
  const text = readPlainSync(join(at, '.gitignore'), MAX_BYTES)?.toString()
  // Patterns that can take long to match are left out, so that a file of a workspace cannot block the process. Without them, some files are
  // found that git would ignore.
  const lines = text?.split(/\r?\n/).filter(isCheapPattern)
  return { path, rules: lines && createIgnore({ allowRelativePaths: true }).add(lines) }
}

/** Whether git would ignore a file or folder. When several `.gitignore` files match, the `.gitignore` in the nearest folder decides. */
export function isIgnored (gitignores: readonly Gitignore[], path: string, isFolder: boolean): boolean {
  for (const { path: folder, rules } of gitignores.toReversed()) {
    if (rules === undefined) continue
    const its = folder === '' ? path : path.slice(folder.length + 1)
    const { ignored, unignored } = rules.test(isFolder ? `${its}/` : its)
    if (ignored || unignored) return ignored
  }
  return false
}
