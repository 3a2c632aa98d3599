import { type Found } from './find-files.ts'
import { type Pty, type PtyOptions } from './pty.ts'

/** Runs commands on one target. */
export interface Executor {
  /**
   * Runs a command of a shell. Returns when the command has ended and no process of it is left, as far as the target can
   * tell.
   * @throws ExecutorError when no command was run
   */
  run (command: string, options: RunOptions): Promise<Ran>
  /**
   * The text of a file. `undefined` where there is no file, the file may not be read, or has more than `limit` bytes. A
   * repository must not choose what is read here, so a link leads nowhere, and neither does a path out of the folder in which
   * commands begin.
   * @param path relative to the folder in which commands begin; on another machine `~/` stands for the user's home
   */
  readText (path: string, limit: number, signal: AbortSignal): Promise<string | undefined>
  /**
   * All files of one name below a folder, with paths as `readText` takes them. Links are not followed. A folder that is not
   * there, or cannot be read, has no files.
   * @throws ExecutorError when the target cannot be reached
   */
  findFiles (folder: string, name: string, signal: AbortSignal): Promise<Found>
  /** Begins a shell with a terminal, where the target's commands begin. @throws ExecutorError */
  openPty (options: PtyOptions): Promise<Pty>
  close (): Promise<void>
}

export interface RunOptions {
  /** The folder in which the command before it ended, as its `Ran` says. @default where the target's commands begin */
  readonly cwd?: string | undefined
  /** In ms. */
  readonly timeout: number
  /** Ends the command when it aborts; `run` resolves when it has ended. */
  readonly signal: AbortSignal
  /** How much of each stream is kept, in bytes: its beginning and its end. @default 1 MiB */
  readonly keep?: number
  /** What the command reads from stdin. @default nothing: it is at its end */
  readonly input?: string
  /** Called with all that the command prints, as it comes. */
  readonly onOutput?: (stream: Stream, text: string) => void
}

export type Stream = 'stdout' | 'stderr'

/** How a command ended. */
export interface Ran {
  /** `lost`: it began, and nobody knows whether it goes on. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  /** As the shell tells it; null when a signal has ended the shell itself, and where nobody knows. */
  readonly exitCode: number | null
  readonly signal?: string
  readonly stdout: string
  readonly stderr: string
  /** Where it ended: absolute. */
  readonly cwd?: string
  readonly durationMs: number
}

/** What each stream keeps when nobody says otherwise, in bytes. */
export const KEPT = 1024 * 1024

/** Longer commands are refused, in bytes: an argument of a process may not be much longer. */
const MAX_COMMAND = 96 * 1024

/** Nothing was run, and why. */
export class ExecutorError extends Error {
  override readonly name = 'ExecutorError'
  readonly code: 'COMMAND_INVALID' | 'FOLDER_INVALID' | 'ROOT_REFUSED' | 'SANDBOX_MISSING' | 'TARGET_BUSY' | 'TARGET_UNREACHABLE' |
    'TERMINAL_BUSY' | 'TERMINAL_GONE' | 'TERMINAL_MOVED' | 'TERMINAL_UNSUPPORTED'

  constructor (code: ExecutorError['code'], message: string) {
    super(message)
    this.code = code
  }
}

/** @throws ExecutorError for a command that no shell can be given */
export function refuseInvalid (command: string): void {
  if (command.includes('\0')) throw new ExecutorError('COMMAND_INVALID', 'expected a command without NUL characters')
  const bytes = Buffer.byteLength(command)
  if (bytes > MAX_COMMAND) throw new ExecutorError('COMMAND_INVALID', `expected a command of at most ${MAX_COMMAND} bytes, got ${bytes}`)
}
