import { promisify } from 'node:util'
import { type Client, type FileEntryWithStats, type SFTPWrapper, type Stats } from 'ssh2'
import { entryOf, findFilesBelow, type FolderEntry, type Found } from '../find-files.ts'

/** What is looked for on another machine. */
export interface RemoteSearch {
  /** The folder that is trusted, with the links that lead to it; relative to the user's home. */
  readonly root: string
  /** Of a folder below it, without `..`. */
  readonly folder: string
  /** Of files. */
  readonly name: string
  readonly signal: AbortSignal
}

/**
 * Files of one name, by their paths below the root. Links below the root are not followed.
 * @throws what the connection says
 */
export async function findOverSftp (client: Client, { root, folder, name, signal }: RemoteSearch): Promise<Found> {
  const sftp = await promisify<SFTPWrapper>(done => { client.sftp(done as (error: Error | undefined, sftp: SFTPWrapper) => void) })()
  const end = (): void => { sftp.end() }
  const closed = new Promise<Found>(resolve => { sftp.once('close', () => { resolve({ paths: [], isWhole: false }) }) })
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([findFilesBelow(folder, name, path => readFolder(sftp, root, path), signal), closed])
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

async function readFolder (sftp: SFTPWrapper, root: string, path: string): Promise<FolderEntry[] | undefined> {
  const ways = path.split('/').map((_part, index, all) => [root, ...all.slice(0, index + 1)].join('/'))
  try {
    const stats = await Promise.all(ways.map(way => promisify<string, Stats>(sftp.lstat.bind(sftp))(way)))
    if (!stats.every(each => each.isDirectory())) return undefined
    const entries = await promisify<string, FileEntryWithStats[]>(sftp.readdir.bind(sftp))(ways.at(-1) as string)
    // Servers tell of an entry what it is itself, not what it leads to.
    return entries.flatMap(({ filename, attrs }) => entryOf(filename, attrs))
  } catch {
    return undefined
  }
}
