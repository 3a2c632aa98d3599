import { promisify } from 'node:util'
import { type Client, type SFTPWrapper, type Stats } from 'ssh2'

/** What is read of another machine. */
export interface RemoteFile {
  /** The folder that is trusted, with the links that lead to it; relative to the user's home. */
  readonly root: string
  /** Of a file below it, in one form: no `.`, no `..`. */
  readonly path: string
  /** Longer ones are none, in bytes. */
  readonly limit: number
  readonly signal: AbortSignal
}

/**
 * The text of a file of another machine. `undefined` for what is no file or no UTF-8, is longer than `limit` bytes, or has a
 * link on its way below the root.
 * @throws what the connection says
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
  // SFTP opens what a name leads to: one that has become a link meanwhile has led elsewhere.
  if (bytes.length > limit || await plainFile(sftp, parts) === undefined) return undefined
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/**
 * What is known of a file. `undefined` when it is no file, or a part of its way is a link.
 * @param parts paths of the folders on its way, and its own
 */
async function plainFile (sftp: SFTPWrapper, parts: readonly string[]): Promise<Stats | undefined> {
  const all = await Promise.all(parts.map(part => promisify<string, Stats>(sftp.lstat.bind(sftp))(part)))
  const file = all.pop()
  // A FIFO would wait for its other end.
  return all.every(folder => folder.isDirectory()) && file?.isFile() === true ? file : undefined
}
