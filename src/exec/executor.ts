/** An executor runs commands in one place that the operator of the service has configured: on a target (a machine or jailed folder), or in a workspace. */
export interface Executor {
  /**
   * Runs a shell command. Resolves when the command and all processes that it started have ended, as far as the target can tell.
   * @throws ExecutorError when no command was run
   */
  run (command: string, options: RunOptions): Promise<Ran>
  /**
   * Reads the text of a file; `undefined` where there is no file, reading it is not allowed, or it has more than `limit` bytes. A repository's
   * links must not decide which file is read, so a path with a link, or one that leaves the folder in which commands begin, counts as absent.
   * @param path relative to the folder in which commands begin; on another machine, `~/` at the beginning of the path means the user's home
   */
  readText (path: string, limit: number, signal: AbortSignal): Promise<string | undefined>
  /**
   * Finds all files of one name below a folder. The found paths can be passed to `readText`. Links are not followed. A folder that does not exist,
   * or cannot be read, has no files.
   * @throws ExecutorError when the target cannot be reached
   */
  findFiles (folder: string, name: string, signal: AbortSignal): Promise<Found>
  /** Begins a shell in a terminal (a pty), in the folder in which the target's commands begin. @throws ExecutorError */
  openPty (options: PtyOptions): Promise<Pty>
  close (): Promise<void>
}

export interface RunOptions {
  /** The folder in which the command begins: mostly the `cwd` with which the previous command ended. @default the folder that the target configures */
  readonly cwd?: string | undefined
  /** The longest time that the command is allowed to run, in ms. */
  readonly timeout: number
  /** When this signal aborts, the executor ends the command. `run` still waits for the command's end. */
  readonly signal: AbortSignal
  /** How many bytes of each output stream the result has at most: of a longer stream, the beginning and the end. @default 1 MiB */
  readonly keep?: number
  /** The text that the command reads from stdin. @default stdin is empty */
  readonly input?: string
  /** Called with each piece of the command's output, as soon as it comes. */
  readonly onOutput?: (stream: Stream, text: string) => void
}

export type Stream = 'stdout' | 'stderr'

/** The result of a command that was run: how it ended, and what it printed. */
export interface Ran {
  /** How the command ended. `lost`: the command has begun, and nobody knows whether it still runs. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  /** The exit code that the supervising shell reports for the command; null when a signal has ended that shell, and when nobody knows the code. */
  readonly exitCode: number | null
  readonly signal?: string
  readonly stdout: string
  readonly stderr: string
  /** The absolute path of the folder in which the command ended. */
  readonly cwd?: string
  readonly durationMs: number
}

/** The default for the most bytes that the result of a command has of each output stream. */
export const KEPT = 1024 * 1024

/** The longest command, in bytes. Linux does not accept a much longer argument of a process. */
const MAX_COMMAND = 96 * 1024

/** The error that a command or a terminal's shell was not begun; the error's code and message say why. */
export class ExecutorError extends Error {
  override readonly name = 'ExecutorError'
  readonly code: 'COMMAND_INVALID' | 'FOLDER_INVALID' | 'ROOT_REFUSED' | 'SANDBOX_MISSING' | 'TARGET_BUSY' | 'TARGET_UNREACHABLE' |
    'TERMINAL_BUSY' | 'TERMINAL_GONE' | 'TERMINAL_MOVED' | 'TERMINAL_UNSUPPORTED'

  constructor (code: ExecutorError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Checks that a command can be passed to a shell. @throws ExecutorError for a command with a NUL character, or one that is too long */
export function refuseInvalid (command: string): void {
  if (command.includes('\0')) throw new ExecutorError('COMMAND_INVALID', 'expected a command without NUL characters')
  const bytes = Buffer.byteLength(command)
  if (bytes > MAX_COMMAND) throw new ExecutorError('COMMAND_INVALID', `expected a command of at most ${MAX_COMMAND} bytes, got ${bytes}`)
}

/** The size of a terminal, in characters. */
export interface Size {
  readonly cols: number
  readonly rows: number
}

/** The largest number of columns or rows of a terminal; the smallest is 1. */
export const MAX_SIDE = 500

/** The size of a terminal when its client does not tell one. */
export const USUAL_SIZE: Size = { cols: 80, rows: 24 }

/** The options with which a shell in a terminal begins. */
export interface PtyOptions {
  readonly size: Size
  /** The shell program and its arguments. @default bash without its start files, else sh */
  readonly shell?: readonly string[]
  /** Called with all bytes that the terminal prints. */
  readonly onOutput: (bytes: Buffer) => void
}

/** The end of a shell in a terminal. */
export interface PtyEnd {
  /** The exit code of the shell; `null` when nobody knows it: the connection was lost, or the shell was killed. */
  readonly exitCode: number | null
}

/** A shell in its own terminal (a pty), on this machine or another one. */
export interface Pty {
  /** Resolves when the shell has ended, or when its connection is lost, so that nobody knows whether it still runs. */
  readonly ended: Promise<PtyEnd>
  write (keys: string): void
  resize (size: Size): void
  /** Stops reading the terminal's output until `resume` is called. Otherwise the output for a client that reads slowly would fill the memory. */
  pause (): void
  resume (): void
  /**
   * Writes a text file that the shell can read; replaces an earlier file of the same name.
   * @returns the path of the file as the shell sees it
   * @throws Error when the file cannot be written
   */
  putFile (name: string, text: string): Promise<string>
  /** The absolute path of the folder in which the shell is, as the system's kernel tells it; `undefined` where it cannot be known. Never fails. */
  folder (): Promise<string | undefined>
  /** Ends the shell and all processes in its terminal. @returns whether their end is confirmed */
  kill (): Promise<boolean>
}

/**
 * The environment variables that a terminal's shell gets beside those that every command gets. The empty `ENV` and `HISTFILE` keep the shell and
 * its child shells from reading a start file and from writing a history. `PAGER` is `cat`, since a pager would wait for a key.
 */
export const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color', PAGER: 'cat', ENV: '', HISTFILE: '', VIRTUAL_ENV_DISABLE_PROMPT: '1' } as const

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
