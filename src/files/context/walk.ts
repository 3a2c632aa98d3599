import { closeSync, constants, opendirSync, openSync, type Dirent } from 'node:fs'
import { DESCRIPTORS, HAS_DESCRIPTORS } from '../open-folder.ts'
import { isProtected } from '../path-rules.ts'
import { gitignoreIn, isIgnored, type Gitignore } from './gitignore.ts'

/** The names of folders that a walk never enters, and the most folders inside each other that it enters. */
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '__pycache__'])
const MAX_DEPTH = 64

/** The largest number of names in a folder that are sorted. To sort more would block the process, so larger folders keep the disk's order. */
const MAX_SORTED = 2000

/** A file that a walk through a workspace has found. */
export interface Found {
  /** The path of the file, relative to the workspace. */
  readonly path: string
  /** The path by which the file system reaches the file, for a synchronous call. It is valid until the walk goes on to the next file. */
  readonly at: string
}

/**
 * Walks through the files below a folder, in the order of their names, without those that are protected or that git ignores. No link is
 * followed, not even a link that somebody creates meanwhile. The walk is synchronous, so it needs a third of the time that an asynchronous walk
 * of 50,000 files needs; but the caller has to pause now and then.
 * @param root the folder's path, without links
 * @param isHidden whether a folder must not be seen
 * @returns each file; now and then `undefined`, so that the caller can pause
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
    const rules = [...above, gitignoreIn(here, path, above)]
    const entries: Dirent[] = []
    for (const entry of entriesOf(here)) if (entry === undefined) yield undefined; else entries.push(entry)
    if (entries.length <= MAX_SORTED) entries.sort((a, b) => a.name < b.name ? -1 : 1)
    for (const entry of entries) {
      const { name } = entry
      const its = path === '' ? name : `${path}/${name}`
      // The kind of an entry is read from its folder, without following links. So a link counts neither as a file nor as a folder.
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
