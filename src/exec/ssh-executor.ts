import { randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { Client, ClientChannel, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'
import type { SshTarget } from '../config/operator.ts'
import { isProtected, normalisePath } from '../files/path-rules.ts'
import { Captured } from './captured-output.ts'
import {
  entryOf, type Executor, ExecutorError, findFilesBelow, type FolderEntry, type Found, type Pty, type PtyOptions, type Ran, refuseInvalid, type RunOptions
} from './executor.ts'
import { printedFolder } from './scripts.ts'
import { keptCommand, killRemotely, openExecChannel, SshConnection } from './ssh-connection.ts'

/** The most bytes that are kept of the text before a remote command's output (a login greeting), and of the text after it (the path of a folder). */
const MAX_ASIDE = 8192

/**
 * Separates the output of a remote command from other text on the same channel. The supervising script prints a mark (a secret text) before the
 * command, and a second mark after the command, with the folder in which the command ended. Text before the first mark (a login greeting) and after
 * the second mark is not part of the command's output.
 */
export class MarkedOutput {
  /**
   * The text after the first mark: the process id of the supervising script, or `nowhere` when the folder in which the command has to begin does
   * not exist; `undefined` until the mark has come.
   */
  begun: string | undefined
  readonly #begin: Buffer
  readonly #end: Buffer
  readonly #onBytes: (bytes: Buffer) => void
  #rest: Buffer = Buffer.alloc(0)
  #state: 'before' | 'inside' | 'behind' = 'before'

  /**
   * Creates the parser for one command.
   * @param mark a text that nobody can guess, so that no command can fake it
   * @param onBytes called with what the command prints
   */
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

  /**
   * Passes on the last part of the output. Until now it was kept back, because it could be the beginning of a mark.
   * @returns the folder in which the command ended; `undefined` if the second mark has not told it
   */
  finish (): string | undefined {
    if (this.#state === 'behind') {
      const [, folder] = /^(\/[^\n]*)\n/.exec(this.#rest.toString()) ?? []
      return folder === undefined ? undefined : printedFolder(folder)
    }
    if (this.#state === 'inside' && this.#rest.length > 0) this.#onBytes(this.#rest)
    return undefined
  }

  /** The text that came in place of the first mark, such as an error of the login shell; `''` if the mark has come. */
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

/** How many bytes at the end of the output can be the beginning of a mark. These bytes are not passed on yet. */
function overlap (bytes: Buffer, mark: Buffer): number {
  for (let length = Math.min(mark.length - 1, bytes.length); length > 0; length--) {
    if (bytes.compare(mark, 0, length, bytes.length - length) === 0) return length
  }
  return 0
}

/**
 * How long a channel stays silent after its command has ended before the service closes it, in ms. A process that the command left behind can keep
 * the channel open.
 */
const REST = 1000

/** How a remote shell ended: the exit code, or the signal that ended the shell. */
interface Exit {
  readonly code: number | null
  readonly signal: string | undefined
}

/** The reason why the wait for a command is over: the command ended, its time limit was reached, or the caller cancelled it. */
type Cause = 'ended' | 'timeout' | 'cancelled'

/**
 * Runs a command on a remote machine over an SSH connection. The outcome `lost` means that the connection broke, or that nobody has
 * confirmed the end of the command.
 * @throws ExecutorError when no command was run
 */
async function runOverSsh (client: Client, command: string, { cwd, ...options }: RunOptions): Promise<Ran> {
  const started = performance.now()
  const mark = `aps-${randomBytes(16).toString('hex')}`
  const marker = randomBytes(8).toString('hex')
  const captured = new Captured(options)
  const output = new MarkedOutput(mark, bytes => { captured.append('stdout', bytes) })
  const ranAs = (end: Omit<Ran, 'stdout' | 'stderr' | 'durationMs' | 'cwd'>): Ran => {
    const folder = output.finish() ?? cwd
    return { ...end, ...captured.texts(), ...(folder === undefined ? {} : { cwd: folder }), durationMs: Math.round(performance.now() - started) }
  }

  let exit: Exit | undefined
  const opened = await openExecChannel(client, keptCommand(command, marker, cwd), channel => {
    // The channel's input stays open, because the supervising script ends the command when the input ends.
    channel.write(`${mark}\n`)
    channel.once('exit', (code: number | null, signal?: string) => { exit = { code, signal } })
    channel.on('data', (bytes: Buffer) => { output.append(bytes) })
    channel.stderr.on('data', (bytes: Buffer) => { captured.append('stderr', bytes) })
    return { channel, closed: closeOf(client, channel) }
  })
  if (opened === undefined) return ranAs({ outcome: 'lost', exitCode: null })
  const { channel, closed } = opened
  const cause = await Promise.race([closed, wantedNoMore(options, started, closed)])
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

/** Resolves when a channel or its connection has closed, or when the channel was silent for `REST` ms after its command had ended. */
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

/** Resolves when a channel has been silent for `REST` ms, or has closed. */
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

/** Waits until the command's time limit is reached, or until the caller cancels the command. @returns which of the two has happened */
async function wantedNoMore ({ timeout, signal }: RunOptions, started: number, closed: Promise<unknown>): Promise<Exclude<Cause, 'ended'>> {
  return await new Promise(resolve => {
    const cancel = (): void => { resolve('cancelled') }
    const timer = setTimeout(() => { resolve('timeout') }, Math.max(timeout - (performance.now() - started), 0))
    signal.addEventListener('abort', cancel)
    if (signal.aborted) cancel()
    void closed.then(() => {
      clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
    })
  })
}

/**
 * The most commands that run at a time on one remote machine. OpenSSH allows 10 sessions on a connection, and ending a command or reading a file
 * needs a session too.
 */
const MAX_RUNNING = 8

/** An executor that runs commands on a remote machine over SSH. */
export class SshExecutor implements Executor {
  readonly #target: SshTarget
  readonly #agent: string | undefined
  readonly #connection: SshConnection
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<Ran>>()

  /** Creates the executor for one remote machine. @param agent the socket of an SSH agent that has the key, for a target without a key file */
  constructor (target: SshTarget, agent: string | undefined) {
    this.#target = target
    this.#agent = agent
    this.#connection = new SshConnection(target, agent)
  }

  async run (command: string, options: RunOptions): Promise<Ran> {
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
    return await this.#connection.use(async client => await readOverSftp(client, { root, path: named.path, limit, signal }).catch(() => undefined))
  }

  async findFiles (folder: string, name: string, signal: AbortSignal): Promise<Found> {
    const isOfHome = folder.startsWith('~/')
    const search = { root: isOfHome ? '.' : this.#target.cwd ?? '.', folder: isOfHome ? folder.slice(2) : folder, name, signal }
    const found = await this.#connection.use(client => findOverSftp(client, search))
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

  async #run (command: string, options: RunOptions): Promise<Ran> {
    const signal = AbortSignal.any([options.signal, this.#closing.signal])
    const ran = await this.#connection.use(async client => {
      // The caller has perhaps cancelled the command while the connection was opened.
      if (signal.aborted) return { outcome: 'cancelled', exitCode: null, stdout: '', stderr: '', durationMs: 0 } as const
      return await runOverSsh(client, command, { ...options, cwd: options.cwd ?? this.#target.cwd, signal })
    })
    // A command was lost when its connection broke or its end was not confirmed. The next command gets a new connection: on a broken one it would be lost too.
    if (ran.outcome === 'lost') this.#connection.renew()
    return ran
  }
}

/** A search for all files of one name on a remote machine. */
interface RemoteSearch {
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
async function findOverSftp (client: Client, { root, folder, name, signal }: RemoteSearch): Promise<Found> {
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

/** A file to read on a remote machine. */
interface RemoteFile {
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
async function readOverSftp (client: Client, file: RemoteFile): Promise<string | undefined> {
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
