import { promisify } from 'node:util'
import { type Client, type SFTPWrapper, type Stats } from 'ssh2'

/** A file to read on a remote machine. */
export interface RemoteFile {
  /** The path of the root folder, relative to the user's home. The operator configured it, so links on the way to it are followed. */
  readonly root: string
  /** The path of the file relative to the root, normalised: without `.` and `..`. */
  readonly path: string
  /** The largest size of the file, in bytes. A larger file counts as absent. */
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * Reads the text of a file on a remote machine over SFTP; `undefined` when the path names no regular file, the file is longer than
 * `limit` bytes, or a part of the path below the root is a link.
 * @throws errors of SFTP, also for a file that does not exist; TypeError for text that is not UTF-8
 */
export async function readOverSftp (client: Client, file: RemoteFile): Promise<string | undefined> {
  const sftp = await promisify<SFTPWrapper>(done => { client.sftp(done as (error: Error | undefined, sftp: SFTPWrapper) => void) })()
  const end = (): void => { sftp.end() }
  file.signal.addEventListener('abort', end)
  try {
    return await Promise.race([readWith(sftp, file), ended(sftp)])
  } finally {
    file.signal.removeEventListener('abort', end)
    end()
  }
}

async function ended (sftp: SFTPWrapper): Promise<undefined> {
  await new Promise<void>(resolve => { sftp.once('close', resolve) })
}

async function readWith (sftp: SFTPWrapper, { root, path, limit }: RemoteFile): Promise<string | undefined> {
  const parts = path.split('/').map((_part, index, all) => [root, ...all.slice(0, index + 1)].join('/'))
  const place = parts.at(-1) as string
  const stats = await plainFile(sftp, parts)
  if (stats === undefined || stats.size > limit) return undefined
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const read: Buffer[] = []
    sftp
      .createReadStream(place, { end: limit })
      .on('data', (part: Buffer) => {
        read.push(part)
      })
      .on('error', reject)
      .on('end', () => {
        resolve(Buffer.concat(read))
      })
  })
  // SFTP follows links when it opens a file. Perhaps somebody put a link into the path meanwhile, so the path is checked again after the read.
  if (bytes.length > limit || await plainFile(sftp, parts) === undefined) return undefined
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/**
 * The attributes of the file at a path; `undefined` when that is no regular file, or a part of the path is a link.
 * @param parts paths of the folders on the way to the file, and last the path of the file itself
 */
async function plainFile (sftp: SFTPWrapper, parts: readonly string[]): Promise<Stats | undefined> {
  const all = await Promise.all(parts.map(part => promisify<string, Stats>(sftp.lstat.bind(sftp))(part)))
  const file = all.pop()
  // Only regular files are read: opening a FIFO would block until a process opens its other end.
  return all.every(folder => folder.isDirectory()) && file?.isFile() === true ? file : undefined
}
