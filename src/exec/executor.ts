/** Runs commands in one place that the operator has configured: on a target, or in a workspace. */
export interface Executor {
  /** Resolves when the command and all that it started have ended, as far as the target can tell. @throws ExecutorError when nothing was run */
  run (command: string, options: CommandOptions): Promise<Ran>
  /** A repository's links must not decide which file is read: a path with a link counts as absent. `limit` is in bytes. */
  readText (path: string, limit: number, signal: AbortSignal): Promise<string | undefined>
  /** Links are not followed; an unreadable folder has no files. @throws ExecutorError when the target cannot be reached */
  findFiles (folder: string, name: string, signal: AbortSignal): Promise<FileMatches>
  /** @throws ExecutorError */
  openPty (options: PtyOptions): Promise<Pty>
  close (): Promise<void>
}

export interface CommandOptions {
  /** @default the folder that the target configures */
  readonly cwd?: string | undefined
  /** In ms. */
  readonly timeout: number
  /** `run` still waits for the command's end after an abort. */
  readonly signal: AbortSignal
  /** In bytes of each stream, of its beginning and its end. @default 1 MiB */
  readonly keep?: number
  readonly input?: string
  readonly onOutput?: (stream: Stream, text: string) => void
}

export type Stream = 'stdout' | 'stderr'

export interface Ran {
  /** `lost`: the command has begun, and nobody knows whether it still runs. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  /** Null when a signal has ended the supervising shell, and when nobody knows the code. */
  readonly exitCode: number | null
  readonly signal?: string
  readonly stdout: string
  readonly stderr: string
  readonly cwd?: string
  readonly durationMs: number
}

/** In bytes of each stream. */
export const KEPT = 1024 * 1024

/** In bytes. Linux does not accept a much longer argument of a process. */
const MAX_COMMAND = 96 * 1024

/** Nothing was begun. */
export class ExecutorError extends Error {
  override readonly name = 'ExecutorError'
  readonly code: 'COMMAND_INVALID' | 'FOLDER_INVALID' | 'ROOT_REFUSED' | 'SANDBOX_MISSING' | 'TARGET_BUSY' | 'TARGET_UNREACHABLE' |
    'TERMINAL_BUSY' | 'TERMINAL_GONE' | 'TERMINAL_MOVED' | 'TERMINAL_UNSUPPORTED'

  constructor (code: ExecutorError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** @throws ExecutorError for a command with a NUL character, or one that is too long */
export function refuseInvalid (command: string): void {
  if (command.includes('\0')) throw new ExecutorError('COMMAND_INVALID', 'expected a command without NUL characters')
  const bytes = Buffer.byteLength(command)
  if (bytes > MAX_COMMAND) throw new ExecutorError('COMMAND_INVALID', `expected a command of at most ${MAX_COMMAND} bytes, got ${bytes}`)
}

/** Calls `stop` at most once: after `timeout` ms, or at the abort. `refresh` begins the time again. */
export function stopAfter (timeout: number, signal: AbortSignal, stop: (cause: 'timeout' | 'cancelled') => void): { clear (): void, refresh (): void } {
  const clear = (): void => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
  const end = (cause: 'timeout' | 'cancelled'): void => {
    clear()
    stop(cause)
  }
  const cancel = (): void => { end('cancelled') }
  const timer = setTimeout(() => { end('timeout') }, timeout)
  signal.addEventListener('abort', cancel)
  if (signal.aborted) cancel()
  return { clear, refresh () { timer.refresh() } }
}

/** @returns `undefined` after `most` ms */
export async function within<T> (most: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<undefined>(resolve => { timer = setTimeout(() => { resolve(undefined) }, most) })
  return await Promise.race([promise, late]).finally(() => { clearTimeout(timer) })
}

export interface Size {
  readonly cols: number
  readonly rows: number
}

export const MAX_SIDE = 500

export const USUAL_SIZE: Size = { cols: 80, rows: 24 }

export interface PtyOptions {
  readonly size: Size
  /** @default bash without its start files, else sh */
  readonly shell?: readonly string[]
  readonly onOutput: (bytes: Buffer) => void
}

export interface PtyEnd {
  /** `null` when nobody knows it: the connection was lost, or the shell was killed. */
  readonly exitCode: number | null
  /** Such as `SIGKILL`, if a signal has ended the shell. */
  readonly signal?: string | undefined
}

/** How a shell has ended, in words. */
export function shellEnd ({ exitCode, signal }: PtyEnd): string {
  return signal === undefined ? `the shell has ended with code ${String(exitCode)}` : `the shell was ended by the signal ${signal}`
}

export interface Pty {
  /** When the connection is lost, nobody knows whether the shell still runs. */
  readonly ended: Promise<PtyEnd>
  write (keys: string): void
  resize (size: Size): void
  /** Otherwise the output for a slow client would fill the memory. */
  pause (): void
  resume (): void
  /** @returns the path as the shell sees it @throws Error when the file cannot be written */
  putFile (name: string, text: string): Promise<string>
  /** As the kernel tells it; `undefined` where it cannot be known. Never fails. */
  folder (): Promise<string | undefined>
  /** @returns whether the end of all processes is confirmed */
  kill (): Promise<boolean>
}

/** Empty `ENV` and `HISTFILE`: no start file, no history. A pager would wait for a key. */
export const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color', PAGER: 'cat', ENV: '', HISTFILE: '', VIRTUAL_ENV_DISABLE_PROMPT: '1' } as const

export interface FolderEntry {
  readonly name: string
  readonly kind: 'file' | 'folder' | 'link'
}

/** `undefined` for a path that is not a folder, or has a link in it. */
export type ReadFolder = (path: string) => Promise<readonly FolderEntry[] | undefined>

export interface FileMatches {
  readonly paths: readonly string[]
  /** Links, and files whose name differs in case. */
  readonly others: ReadonlyArray<{ readonly path: string, readonly reason: string }>
  readonly isWhole: boolean
}

export function entryOf (name: string, kind: { isFile (): boolean, isDirectory (): boolean, isSymbolicLink (): boolean }): FolderEntry[] {
  if (kind.isSymbolicLink()) return [{ name, kind: 'link' }]
  return kind.isFile() ? [{ name, kind: 'file' }] : kind.isDirectory() ? [{ name, kind: 'folder' }] : []
}

const MAX_DEPTH = 8

export const MAX_ENTRIES = 5000
const MAX_FOUND = 1000

/** Files fewer levels below come first, then by path. Hidden folders are not entered. */
export async function findFilesBelow (folder: string, name: string, readFolder: ReadFolder, signal: AbortSignal): Promise<FileMatches> {
  const paths: string[] = []
  const others: Array<FileMatches['others'][number]> = await findLinkIn(folder, readFolder)
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

function missedAs ({ name, kind }: FolderEntry, wanted: string, isFound: boolean): Array<{ readonly name: string, readonly reason: string }> {
  const isMeant = name.toLowerCase() === wanted.toLowerCase()
  if (kind === 'link' && (isMeant || (!isFound && !name.startsWith('.')))) return [{ name, reason: LINK }]
  return kind === 'file' && isMeant && name !== wanted ? [{ name, reason: `expected the name ${wanted}` }] : []
}

const LINK = 'it is a link, and links are not followed'

async function findLinkIn (folder: string, readFolder: ReadFolder): Promise<Array<FileMatches['others'][number]>> {
  if (await readFolder(folder) !== undefined) return []
  const parts = folder.split('/')
  for (const [index, part] of parts.entries()) {
    const entries = await readFolder(parts.slice(0, index).join('/') || '.') ?? []
    if (entries.some(({ name, kind }) => name === part && kind === 'link')) return [{ path: parts.slice(0, index + 1).join('/'), reason: LINK }]
  }
  return []
}
