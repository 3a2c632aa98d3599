import { join } from 'node:path'
import createIgnore, { type Ignore } from 'ignore'
import { isCheapPattern } from './glob.ts'
import { readPlainSync } from './read-plain-sync.ts'

/** Longer ones are not read, in bytes. */
const MAX_BYTES = 64 * 1024

/** The `.gitignore` of a folder, if there is one. */
export interface Gitignore {
  /** Of the folder, from the root on. */
  readonly path: string
  readonly rules: Ignore | undefined
}

/** @param at the folder, for one call @param path the folder from the root on */
export function gitignoreIn (at: string, path: string): Gitignore {
  const text = readPlainSync(join(at, '.gitignore'), MAX_BYTES)?.toString()
  // Such a pattern is left out: a pattern of a stranger that takes long to match would keep the event loop. Without it, more
  // files are found.
  const lines = text?.split(/\r?\n/).filter(isCheapPattern)
  return { path, rules: lines && createIgnore({ allowRelativePaths: true }).add(lines) }
}

/** Whether git would ignore something; the `.gitignore` that is nearest to it has the last word. */
export function isIgnored (gitignores: readonly Gitignore[], path: string, isFolder: boolean): boolean {
  for (const { path: folder, rules } of gitignores.toReversed()) {
    if (rules === undefined) continue
    const its = folder === '' ? path : path.slice(folder.length + 1)
    const { ignored, unignored } = rules.test(isFolder ? `${its}/` : its)
    if (ignored || unignored) return ignored
  }
  return false
}
