import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { Client, ClientChannel, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'
import type { SshTarget } from '../config/operator.ts'
import { isProtected, normalisePath } from '../files/path-rules.ts'
import { Captured } from './captured-output.ts'
import {
  entryOf, type Executor, ExecutorError, findFilesBelow, type FolderEntry, type FileMatches, type Pty, type PtyOptions, type Ran, refuseInvalid,
  type CommandOptions, stopAfter
} from './executor.ts'
import { printedFolder } from './scripts.ts'
import { keptCommand, killRemotely, openExecChannel, SshConnection } from './ssh-connection.ts'

/** In bytes, of a login greeting before a command's output, and of the folder after it. */
const MAX_ASIDE = 8192

/** Separates a command's output from other text on its channel: a secret mark comes before it, and one after it. */
export class MarkedOutput {
  /** The supervising script's process id, or `nowhere` when the folder does not exist; `undefined` until the mark has come. */
  begun: string | undefined
  readonly #begin: Buffer
  readonly #end: Buffer
  readonly #onBytes: (bytes: Buffer) => void
  #rest: Buffer = Buffer.alloc(0)
  #state: 'before' | 'inside' | 'behind' = 'before'

  /** Nobody can guess the mark, so no command can fake it. */
  constructor (mark: string, onBytes: (bytes: Buffer) => void) {
    this.#begin = Buffer.from(`${mark} begin `)
    this.#end = Buffer.from(`${mark} end `)
    this.#onBytes = onBytes
  }

  append (bytes: Buffer): void {
    this.#rest = this.#rest.length === 0 ? bytes : Buffer.concat([this.#rest, bytes])
    if (this.#state === 'before') this.#lookForBegin()
    if (this.#state === 'inside') this.#lookForEnd()
    if (this.#state === 'behind') this.#rest = this.#rest.subarray(0, MAX_ASIDE)
  }

  /** @returns the folder in which the command ended; `undefined` if the second mark has not told it */
  finish (): string | undefined {
    if (this.#state === 'behind') {
      const [, folder] = /^(\/[^\n]*)\n/.exec(this.#rest.toString()) ?? []
      return folder === undefined ? undefined : printedFolder(folder)
    }
    if (this.#state === 'inside' && this.#rest.length > 0) this.#onBytes(this.#rest)
    return undefined
  }

  /** Such as an error of the login shell; `''` if the mark has come. */
  get aside (): string {
    return this.#state === 'before' ? this.#rest.toString() : ''
  }

  #lookForBegin (): void {
    const at = this.#rest.indexOf(this.#begin)
    const end = at < 0 ? -1 : this.#rest.indexOf('\n', at)
    if (end < 0) {
      this.#rest = this.#rest.subarray(-MAX_ASIDE)
      return
    }
    this.begun = this.#rest.toString('utf8', at + this.#begin.length, end)
    this.#rest = this.#rest.subarray(end + 1)
    this.#state = 'inside'
  }

  #lookForEnd (): void {
    const at = this.#rest.indexOf(this.#end)
    const until = at >= 0 ? at : this.#rest.length - overlap(this.#rest, this.#end)
    if (until > 0) this.#onBytes(this.#rest.subarray(0, until))
    this.#rest = this.#rest.subarray(at >= 0 ? at + this.#end.length : until)
    if (at >= 0) this.#state = 'behind'
  }
}

function overlap (bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length--) {
    if (bytes.compare(mark, 0, length, bytes.length - length) === 0) return length
  }
  return 0
}

/** In ms of silence after a command's end. What the command left behind can keep the channel open. */
const REST = 1000

/** `lost`: the connection broke, or nobody confirmed the command's end. @throws ExecutorError when no command was run */
async function runOverSsh (client: Client, command: string, { cwd, ...options }: CommandOptions): Promise<Ran> {
  const started = performance.now()
  const mark = `aps-${randomBytes(16).toString('hex')}`
  const marker = randomBytes(8).toString('hex')
  const captured = new Captured(options)
  const output = new MarkedOutput(mark, bytes => { captured.append('stdout', bytes) })
  const ranAs = (end: Omit<Ran, 'stdout' | 'stderr' | 'durationMs' | 'cwd'>): Ran => {
    const folder = output.finish() ?? cwd
    return { ...end, ...captured.texts(), ...(folder === undefined ? {} : { cwd: folder }), durationMs: Math.round(performance.now() - started) }
  }

  let exit: { readonly code: number | null, readonly signal: string | undefined } | undefined
  const opened = await openExecChannel(client, keptCommand(command, marker, cwd), channel => {
    // The input stays open, because the supervising script ends the command when it ends.
    channel.write(`${mark}\n`)
    channel.once('exit', (code: number | null, signal?: string) => { exit = { code, signal } })
    channel.on('data', (bytes: Buffer) => { output.append(bytes) })
    channel.stderr.on('data', (bytes: Buffer) => { captured.append('stderr', bytes) })
    return { channel, closed: closeOf(client, channel) }
  })
  if (opened === undefined) return ranAs({ outcome: 'lost', exitCode: null })
  const { channel, closed } = opened
  const cause = await Promise.race([closed, new Promise<'timeout' | 'cancelled'>(resolve => {
    const stopping = stopAfter(Math.max(options.timeout - (performance.now() - started), 0), options.signal, resolve)
    void closed.then(() => { stopping.clear() })
  })])
  if (cause !== 'ended') {
    const pid = Number(output.begun)
    const signal = Number.isSafeInteger(pid) && pid > 1 ? await killRemotely(client, pid, marker, mark) : undefined
    // The command's last output is perhaps still on its way.
    if (signal !== undefined) await Promise.race([closed, silence(channel)])
    channel.destroy()
    return ranAs(signal === undefined ? { outcome: 'lost', exitCode: null } : { outcome: cause, exitCode: null, signal })
  }
  channel.destroy()
  if (exit === undefined) return ranAs({ outcome: 'lost', exitCode: null })
  if (output.begun === 'nowhere') throw new ExecutorError('FOLDER_INVALID', `expected a folder of the target to begin in, got ${JSON.stringify(cwd)}`)
  if (output.begun === undefined) {
    throw new ExecutorError(
      'TARGET_UNREACHABLE',
      `the login shell did not begin the command: ${`${output.aside} ${captured.texts().stderr}`.trim().slice(0, 200)}`
    )
  }
  return ranAs({ outcome: 'exited', exitCode: exit.code, ...(exit.signal === undefined ? {} : { signal: exit.signal }) })
}

async function closeOf (client: Client, channel: ClientChannel): Promise<'ended'> {
  await new Promise<void>(resolve => {
    const end = (): void => {
      client.off('close', end)
      resolve()
    }
    channel.once('close', end)
    client.once('close', end)
    channel.once('exit', () => { void silence(channel).then(end) })
  })
  return 'ended'
}

async function silence (channel: ClientChannel): Promise<void> {
  await new Promise<void>(resolve => {
    const timer = setTimeout(resolve, REST)
    for (const stream of [channel, channel.stderr]) stream.on('data', () => { timer.refresh() })
    channel.once('close', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** OpenSSH allows 10 sessions on a connection, and ending a command or reading a file needs one too. */
const MAX_RUNNING = 8

/** Runs commands on a remote machine over SSH. */
export class SshExecutor implements Executor {
  readonly #target: SshTarget
  readonly #agent: string | undefined
  readonly #connection: SshConnection
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Ran>>()

  constructor (target: SshTarget, agent: string | undefined) {
    this.#target = target
    this.#agent = agent
    this.#connection = new SshConnection(target, agent)
  }

  async run (command: string, options: CommandOptions): Promise<Ran> {
    refuseInvalid(command)
    if (this.#running.size >= MAX_RUNNING) throw new ExecutorError('TARGET_BUSY', `target "${this.#target.name}" runs ${MAX_RUNNING} commands already`)
    const running = this.#run(command, options)
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  async readText (path: string, limit: number, signal: AbortSignal): Promise<string | undefined> {
    const isOfHome = path.startsWith('~/')
    const named = normalisePath(isOfHome ? path.slice(2) : path)
    if ('code' in named || isProtected(named.path)) return undefined
    // SFTP paths are relative to the home folder of the remote user.
    const root = isOfHome ? '.' : this.#target.cwd ?? '.'
    return await this.#connection.use(async client => await overSftp(client, signal, sftp => readFile(sftp, root, named.path, limit)).catch(() => undefined))
  }

  async findFiles (folder: string, name: string, signal: AbortSignal): Promise<FileMatches> {
    const isOfHome = folder.startsWith('~/')
    const root = isOfHome ? '.' : this.#target.cwd ?? '.'
    const find = (sftp: SFTPWrapper): Promise<FileMatches> => {
      return findFilesBelow(isOfHome ? folder.slice(2) : folder, name, path => readFolder(sftp, root, path), signal)
    }
    const found = await this.#connection.use(client => overSftp(client, signal, find)) ?? { paths: [], others: [], isWhole: false }
    if (!isOfHome) return found
    return { ...found, paths: found.paths.map(path => `~/${path}`), others: found.others.map(({ path, reason }) => ({ path: `~/${path}`, reason })) }
  }

  async openPty (options: PtyOptions): Promise<Pty> {
    const { openSshPty } = await import('./ssh-pty.ts')
    return await openSshPty(this.#target, this.#agent, options)
  }

  async close (): Promise<void> {
    this.#closing.abort()
    await Promise.allSettled(this.#running)
    this.#connection.renew()
  }

  async #run (command: string, options: CommandOptions): Promise<Ran> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const ran = await this.#connection.use(async client => {
      // The caller perhaps cancelled while the connection was opened.
      if (signal.aborted) return { outcome: 'cancelled', exitCode: null, stdout: '', stderr: '', durationMs: 0 } as const
      return await runOverSsh(client, command, { ...options, cwd: options.cwd ?? this.#target.cwd, signal })
    })
    // On a broken connection the next command would be lost too.
    if (ran.outcome === 'lost') this.#connection.renew()
    return ran
  }
}

/** `undefined` when the channel ended before. @throws errors of the connection */
async function overSftp<T> (client: Client, signal: AbortSignal, use: (sftp: SFTPWrapper) => Promise<T>): Promise<T | undefined> {
  const sftp = await promisify<SFTPWrapper>(done => { client.sftp(done as (error: Error | undefined, sftp: SFTPWrapper) => void) })()
  const end = (): void => { sftp.end() }
  const closed = new Promise<undefined>(resolve => { sftp.once('close', () => { resolve(undefined) }) })
  signal.addEventListener('abort', end)
  try {
    return await Promise.race([use(sftp), closed])
  } finally {
    signal.removeEventListener('abort', end)
    end()
  }
}

/** The operator configured the root, so links on the way to it are followed. The path is relative to it, without `.` and `..`. */
async function statsBelow (sftp: SFTPWrapper, root: string, path: string): Promise<{ readonly ways: readonly string[], readonly stats: Stats[] }> {
  const ways = path.split('/').map((_part, index, all) => [root, ...all.slice(0, index + 1)].join('/'))
  return { ways, stats: await Promise.all(ways.map(way => promisify<string, Stats>(sftp.lstat.bind(sftp))(way))) }
}

async function readFolder (sftp: SFTPWrapper, root: string, path: string): Promise<FolderEntry[] | undefined> {
  try {
    const { ways, stats } = await statsBelow(sftp, root, path)
    if (!stats.every(each => each.isDirectory())) return undefined
    const entries = await promisify<string, FileEntryWithStats[]>(sftp.readdir.bind(sftp))(ways.at(-1) as string)
    // SFTP servers list the attributes of a link itself, so a link is known as one.
    return entries.flatMap(({ filename, attrs }) => entryOf(filename, attrs))
  } catch {
    return undefined
  }
}

/** `undefined` also for a link below the root, and for more bytes than `limit`. @throws errors of SFTP; TypeError for text that is not UTF-8 */
async function readFile (sftp: SFTPWrapper, root: string, path: string, limit: number): Promise<string | undefined> {
  const file = await plainFile(sftp, root, path)
  if (file === undefined || file.size > limit) return undefined
  const bytes = await new Promise<Buffer>((resolve, reject) => {
    const read: Buffer[] = []
    sftp
      .createReadStream(file.at, { end: limit })
      .on('data', (part: Buffer) => { read.push(part) })
      .on('error', reject)
      .on('end', () => { resolve(Buffer.concat(read)) })
  })
  // SFTP follows links at open, and somebody may have put one into the path meanwhile: it is checked again after the read.
  if (bytes.length > limit || await plainFile(sftp, root, path) === undefined) return undefined
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}

/** `undefined` for what is no regular file, or has a link in its path. */
async function plainFile (sftp: SFTPWrapper, root: string, path: string): Promise<{ readonly at: string, readonly size: number } | undefined> {
  const { ways, stats } = await statsBelow(sftp, root, path)
  const file = stats.pop()
  // Opening a FIFO would block until a process opens its other end.
  return stats.every(folder => folder.isDirectory()) && file?.isFile() === true ? { at: ways.at(-1) as string, size: file.size } : undefined
}
