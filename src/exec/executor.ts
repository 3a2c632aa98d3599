import { type Found } from './find-files.ts'
import { type Pty, type PtyOptions } from './pty.ts'

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
