import { closeSync, constants, opendirSync, openSync, type Dirent } from 'node:fs'
import { DESCRIPTORS, HAS_DESCRIPTORS } from '../open-folder.ts'
import { isProtected } from '../path-rules.ts'
import { gitignoreIn, isIgnored, type Gitignore } from './gitignore.ts'

/** Folders that are never looked into, and how deep those go that are. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])
const MAX_DEPTH = 64

/** In larger folders names come as the disk has them: to sort them would keep the event loop. */
const MAX_SORTED = 2000

/** A file that was found. */
export interface Found {
  /** From the root on. */
  readonly path: string
  /** For one synchronous call of the file system, before the next file is asked for. */
  readonly at: string
}

/**
 * The files below a folder that are neither protected nor ignored by git, by their names. No link is followed, not even one
 * that is put there meanwhile. The walk is synchronous, since 50,000 files then take a third of the time; the caller makes
 * pauses.
 * @param root without links
 * @param isHidden tells of folders that nobody may see
 * @returns `undefined` now and then, where a pause may be due and there is no file yet
 */
export function * walk (root: string, isHidden: (path: string) => boolean): Generator<Found | undefined> {
  yield * walkFolder(root, '', [], isHidden)
}

function * walkFolder (folder: string, path: string, above: readonly Gitignore[], isHidden: (path: string) => boolean): Generator<Found | undefined> {
  if (above.length > MAX_DEPTH) return
  let descriptor: number
  try {
    descriptor = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW)
  } catch {
    return
  }
  try {
    const here = HAS_DESCRIPTORS ? `${DESCRIPTORS}/${descriptor}` : folder
    const rules = [...above, gitignoreIn(here, path)]
    const entries: Dirent[] = []
    for (const entry of entriesOf(here)) if (entry === undefined) yield undefined; else entries.push(entry)
    if (entries.length <= MAX_SORTED) entries.sort((a, b) => a.name < b.name ? -1 : 1)
    for (const entry of entries) {
      const { name } = entry
      const its = path === '' ? name : `${path}/${name}`
      // The folders on the way were looked at before.
      const isFolder = entry.isDirectory()
      if (!(isFolder || entry.isFile()) || SKIPPED.has(name) || isProtected(name) || isIgnored(rules, its, isFolder)) {
        yield undefined
      } else if (!isFolder) {
        yield { path: its, at: `${here}/${name}` }
      } else if (!isHidden(its)) {
        yield * walkFolder(`${here}/${name}`, its, rules, isHidden)
      }
    }
  } finally {
    closeSync(descriptor)
  }
}

function * entriesOf (folder: string): Generator<Dirent | undefined> {
  const opened = opendirSync(folder, { bufferSize: 256 })
  try {
    for (let entry = opened.readSync(), count = 1; entry !== null; entry = opened.readSync(), count++) {
      yield entry
      if (count % 256 === 0) yield undefined
    }
  } finally {
    opened.closeSync()
  }
}
