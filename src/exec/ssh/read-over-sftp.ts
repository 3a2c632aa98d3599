import { promisify } from 'node:util'
import { type Client, type SFTPWrapper } from 'ssh2'

/**
 * The text of a file of another machine; `undefined` for what is no file, no UTF-8, or longer than `limit` bytes.
 * @throws what the connection says
 */
export async function readOverSftp (client: Client, path: string, limit: number, signal: AbortSignal): Promise<string | undefined> {
  const sftp = await promisify<SFTPWrapper>(done => { client.sftp(done as (error: Error | undefined, sftp: SFTPWrapper) => void) })()
  const end = (): void => { sftp.end() }
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([readWith(sftp, path, limit), ended(sftp)])
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

async function ended (sftp: SFTPWrapper): Promise<undefined> {
  await new Promise<void>(resolve => { sftp.once('close', resolve) })
}

async function readWith (sftp: SFTPWrapper, path: string, limit: number): Promise<string | undefined> {
  const stats = await promisify(sftp.stat.bind(sftp))(path)
  // A FIFO would wait for its other end.
  if (!stats.isFile() || stats.size > limit) return undefined
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const parts: Buffer[] = []
    sftp.createReadStream(path, { end: limit }).on('data', (part: Buffer) => { parts.push(part) }).on('error', reject).on('end', () => { resolve(Buffer.concat(parts)) })
  })
  return bytes.length > limit ? undefined : new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
