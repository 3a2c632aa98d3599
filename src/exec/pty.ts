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
