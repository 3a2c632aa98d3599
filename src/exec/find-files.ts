/** An entry of a folder in a search for files: a file or a folder. Links and all other kinds are left out. */
export interface FolderEntry {
  readonly name: string
  readonly kind: 'file' | 'folder'
}

/** Reads the entries of a folder; `undefined` for a path that is not a folder, or has a link in it. */
export type ReadFolder = (path: string) => Promise<readonly FolderEntry[] | undefined>

/** The result of a search for files. */
export interface Found {
  readonly paths: readonly string[]
  /** Whether the search came to its end. It ends early when folders have too many entries, when too many files were found, or when it is aborted. */
  readonly isWhole: boolean
}

/** Makes an entry of a folder for a search: a list with this entry, or an empty list for a link or anything else. */
export function entryOf (name: string, kind: { isFile (): boolean, isDirectory (): boolean }): FolderEntry[] {
  return kind.isFile() ? [{ name, kind: 'file' }] : kind.isDirectory() ? [{ name, kind: 'folder' }] : []
}

/** How many levels below its first folder a search goes. */
const MAX_DEPTH = 8

/** A search ends early when it has read this many entries of folders, or has found this many files. */
export const MAX_ENTRIES = 5000
const MAX_FOUND = 1000

/**
 * Finds all files of one name below a folder. A file that lies fewer levels below comes first; the files of one level are sorted by path. Hidden
 * folders, and folders more than 8 levels below, are not entered.
 */
export async function findFilesBelow (folder: string, name: string, readFolder: ReadFolder, signal: AbortSignal): Promise<Found> {
  const paths: string[] = []
  let seen = 0
  for (let [level, depth] = [[folder], 0]; level.length > 0 && depth <= MAX_DEPTH; depth++) {
    const below: string[] = []
    for (const path of level) {
      if (signal.aborted || seen >= MAX_ENTRIES || paths.length >= MAX_FOUND) return { paths, isWhole: false }
      const entries = (await readFolder(path) ?? []).toSorted((a, b) => a.name < b.name ? -1 : 1)
      seen += entries.length
      if (entries.some(entry => entry.kind === 'file' && entry.name === name)) paths.push(`${path}/${name}`)
      below.push(...entries.filter(entry => entry.kind === 'folder' && !entry.name.startsWith('.')).map(entry => `${path}/${entry.name}`))
    }
    level = below
  }
  return { paths, isWhole: !signal.aborted }
}
