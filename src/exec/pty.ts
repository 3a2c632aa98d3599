/** The size of a terminal, in characters. */
export interface Size {
  readonly cols: number
  readonly rows: number
}

/** The largest side of a terminal, in characters; the smallest is 1. */
export const MAX_SIDE = 500

/** The size of a terminal whose client says none. */
export const USUAL_SIZE: Size = { cols: 80, rows: 24 }

/** Options for beginning a shell in a terminal. */
export interface PtyOptions {
  readonly size: Size
  /** The shell with its arguments. @default bash without its files, else sh */
  readonly shell?: readonly string[]
  /** Called with all that comes out of the terminal. */
  readonly onOutput: (bytes: Buffer) => void
}

/** How a shell ended. */
export interface PtyEnd {
  /** `null` where nobody knows: the connection was lost, or the shell was killed. */
  readonly exitCode: number | null
}

/** A shell with a terminal of its own, on this machine or another one. */
export interface Pty {
  /** Resolves when the shell has ended, or nobody knows any more whether it runs. */
  readonly ended: Promise<PtyEnd>
  write (keys: string): void
  resize (size: Size): void
  /** Reads no output until `resume`. */
  pause (): void
  resume (): void
  /**
   * Writes a text file that the shell can read; replaces an earlier file of that name.
   * @returns the path of the file as the shell sees it
   * @throws Error
   */
  putFile (name: string, text: string): Promise<string>
  /** Ends the shell and all that runs in its terminal. @returns whether that is confirmed */
  kill (): Promise<boolean>
}

/**
 * The variables that a terminal's shell has beside those of commands. The empty `ENV` and `HISTFILE` keep it and its child shells from reading a start
 * file and from writing a history. `PAGER` is `cat`, since a pager would wait for a key.
 */
export const TERMINAL_ENVIRONMENT = { TERM: 'xterm-256color', PAGER: 'cat', ENV: '', HISTFILE: '', VIRTUAL_ENV_DISABLE_PROMPT: '1' } as const
