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
  /** Whether all folders were searched. A search ends early when there are too many files, or when its signal aborts. */
  readonly isWhole: boolean
}

/** Converts an entry of a folder for a search: a list of one, or an empty list for a link or any other kind. */
export function entryOf (name: string, kind: { isFile (): boolean, isDirectory (): boolean }): FolderEntry[] {
  return kind.isFile() ? [{ name, kind: 'file' }] : kind.isDirectory() ? [{ name, kind: 'folder' }] : []
}

/** The deepest level of folders that is entered, counted from the first folder. */
const MAX_DEPTH = 8

/** The number of entries, and the number of found files, at which a search ends early. */
export const MAX_ENTRIES = 5000
const MAX_FOUND = 1000

/** Finds all files of one name below a folder, the nearer ones first, then by name. Hidden folders, and folders nested deeper than 8, are not entered. */
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
