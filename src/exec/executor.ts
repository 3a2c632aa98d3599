import { type Found } from './find-files.ts'
import { type Pty, type PtyOptions } from './pty.ts'

/** Runs commands on one target. */
export interface Executor {
  /**
   * Runs a shell command. Returns when the command has ended and no process of it is left, as far as the target can
   * tell.
   * @throws ExecutorError when no command was run
   */
  run (command: string, options: RunOptions): Promise<Ran>
  /**
   * Reads the text of a file. `undefined` where there is no file, the file may not be read, or has more than `limit` bytes. A
   * repository must not choose what is read here, so a link leads nowhere, and neither does a path out of the folder in which
   * commands begin.
   * @param path relative to the folder in which commands begin; on another machine `~/` stands for the user's home
   */
  readText (path: string, limit: number, signal: AbortSignal): Promise<string | undefined>
  /**
   * Finds all files of one name below a folder, with paths as `readText` takes them. Links are not followed. A folder that is not
   * there, or cannot be read, has no files.
   * @throws ExecutorError when the target cannot be reached
   */
  findFiles (folder: string, name: string, signal: AbortSignal): Promise<Found>
  /** Begins a shell with a terminal, where the target's commands begin. @throws ExecutorError */
  openPty (options: PtyOptions): Promise<Pty>
  close (): Promise<void>
}

export interface RunOptions {
  /** The folder in which the command begins, usually the `cwd` of the previous command's `Ran`. @default where the target's commands begin */
  readonly cwd?: string | undefined
  /** In ms. */
  readonly timeout: number
  /** Ends the command when it aborts; `run` resolves when it has ended. */
  readonly signal: AbortSignal
  /** How much of each stream is kept, in bytes: its beginning and its end. @default 1 MiB */
  readonly keep?: number
  /** The text that the command reads from stdin. @default stdin is empty */
  readonly input?: string
  /** Called with all that the command prints, as it comes. */
  readonly onOutput?: (stream: Stream, text: string) => void
}

export type Stream = 'stdout' | 'stderr'

/** How a command ended. */
export interface Ran {
  /** `lost`: the command began, and nobody knows whether it still runs. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  /** The exit code that the shell reports; null when a signal has ended the shell itself, and where nobody knows the code. */
  readonly exitCode: number | null
  readonly signal?: string
  readonly stdout: string
  readonly stderr: string
  /** The absolute path of the folder in which the command ended. */
  readonly cwd?: string
  readonly durationMs: number
}

/** The default for how much is kept of each stream, in bytes. */
export const KEPT = 1024 * 1024

/** The largest length of a command, in bytes. An argument of a process cannot be much longer. */
const MAX_COMMAND = 96 * 1024

/** No command was run; the code and the message say why. */
export class ExecutorError extends Error {
  override readonly name = 'ExecutorError'
  readonly code: 'COMMAND_INVALID' | 'FOLDER_INVALID' | 'ROOT_REFUSED' | 'SANDBOX_MISSING' | 'TARGET_BUSY' | 'TARGET_UNREACHABLE' |
    'TERMINAL_BUSY' | 'TERMINAL_GONE' | 'TERMINAL_MOVED' | 'TERMINAL_UNSUPPORTED'

  constructor (code: ExecutorError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** Refuses an invalid command. @throws ExecutorError for a command with a NUL character, or one that is too long */
export function refuseInvalid (command: string): void {
  if (command.includes('\0')) throw new ExecutorError('COMMAND_INVALID', 'expected a command without NUL characters')
  const bytes = Buffer.byteLength(command)
  if (bytes > MAX_COMMAND) throw new ExecutorError('COMMAND_INVALID', `expected a command of at most ${MAX_COMMAND} bytes, got ${bytes}`)
}
