/** An entry of a folder in a search for files. Other kinds, such as sockets, are left out. */
export interface FolderEntry {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link'
}

/** Reads the entries of a folder; `undefined` for a path that is not a folder, or has a link in it. */
export type ReadFolder = (path: string) => Promise<readonly FolderEntry[] | undefined>

/** The result of a search for files. */
export interface Found {
  readonly paths: readonly string[]
  /** What may have been meant to be found, and was not: links, and files whose name differs in case. */
  readonly others: ReadonlyArray<{ readonly path: string, readonly reason: string }>
  /** Whether the search came to its end. It ends early when folders have too many entries, when too many files were found, or when it is aborted. */
  readonly isWhole: boolean
}

/** Makes an entry of a folder for a search: a list with this entry, or an empty list for what is no file, folder or link. */
export function entryOf (name: string, kind: { isFile (): boolean, isDirectory (): boolean, isSymbolicLink (): boolean }): FolderEntry[] {
  if (kind.isSymbolicLink()) return [{ name, kind: 'link' }]
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
  const others: Array<Found['others'][number]> = await findLinkIn(folder, readFolder)
  let seen = 0
  for (let [level, depth] = [[folder], 0]; level.length > 0 && depth <= MAX_DEPTH; depth++) {
    const below: string[] = []
    for (const path of level) {
      if (signal.aborted || seen >= MAX_ENTRIES || paths.length >= MAX_FOUND) return { paths, others, isWhole: false }
      const entries = (await readFolder(path) ?? []).toSorted((a, b) => a.name < b.name ? -1 : 1)
      seen += entries.length
      const isFound = entries.some(entry => entry.kind === 'file' && entry.name === name)
      if (isFound) paths.push(`${path}/${name}`)
      others.push(...entries.flatMap(entry => missedAs(entry, name, isFound)).map(({ name: other, reason }) => ({ path: `${path}/${other}`, reason })))
      below.push(...entries.filter(entry => entry.kind === 'folder' && !entry.name.startsWith('.')).map(entry => `${path}/${entry.name}`))
    }
    level = below
  }
  return { paths, others, isWhole: !signal.aborted }
}

/** Why an entry is not found that may have been meant to be; an empty list for any other. Beside a found file, links are its own affair. */
function missedAs ({ name, kind }: FolderEntry, wanted: string, isFound: boolean): Array<{ readonly name: string, readonly reason: string }> {
  const isMeant = name.toLowerCase() === wanted.toLowerCase()
  if (kind === 'link' && (isMeant || (!isFound && !name.startsWith('.')))) return [{ name, reason: LINK }]
  return kind === 'file' && isMeant && name !== wanted ? [{ name, reason: `expected the name ${wanted}` }] : []
}

const LINK = 'it is a link, and links are not followed'

/** The first link on the way to a folder, which keeps the folder from being read; an empty list without one. */
async function findLinkIn (folder: string, readFolder: ReadFolder): Promise<Array<Found['others'][number]>> {
  if (await readFolder(folder) !== undefined) return []
  const parts = folder.split('/')
  for (const [index, part] of parts.entries()) {
    const entries = await readFolder(parts.slice(0, index).join('/') || '.') ?? []
    if (entries.some(({ name, kind }) => name === part && kind === 'link')) return [{ path: parts.slice(0, index + 1).join('/'), reason: LINK }]
  }
  return []
}
