import { promisify } from 'node:util'
import { type Client, type FileEntryWithStats, type SFTPWrapper, type Stats } from 'ssh2'
import { entryOf, findFilesBelow, type FolderEntry, type Found } from '../find-files.ts'

/** A search for all files of one name on a remote machine. */
export interface RemoteSearch {
  /** The path of the root folder, relative to the user's home. The operator configured it, so links on the way to it are followed. */
  readonly root: string
  /** The path of the folder to search, relative to the root, without `..`. */
  readonly folder: string
  /** The file name to search for. */
  readonly name: string
  readonly signal: AbortSignal
}

/**
 * Finds all files of one name on a remote machine over SFTP. The found paths are relative to the root folder. Links below the root are
 * not followed.
 * @throws errors of the connection
 */
export async function findOverSftp (client: Client, { root, folder, name, signal }: RemoteSearch): Promise<Found> {
  const sftp = await promisify<SFTPWrapper>(done => { client.sftp(done as (error: Error | undefined, sftp: SFTPWrapper) => void) })()
  const end = (): void => { sftp.end() }
  const closed = new Promise<Found>(resolve => { sftp.once('close', () => { resolve({ paths: [], others: [], isWhole: false }) }) })
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
    // SFTP servers list the attributes of a link itself, not those of the file to which it points. So a link is known as one.
    return entries.flatMap(({ filename, attrs }) => entryOf(filename, attrs))
  } catch {
    return undefined
  }
}
