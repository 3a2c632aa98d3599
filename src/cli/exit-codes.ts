/** The exit codes of `aps`. Scripts rely on them. */
export const EXIT = {
  OK: 0,
  /** The service said no (not found, a conflict, refused), or the command has found a fault: a difference, a failed test. */
  NO: 1,
  /** The command line, or the input of the command, is wrong. */
  USAGE: 2,
  /** There is no valid token, or the token does not give the right to make the request. */
  TOKEN: 4,
  /** The service does not answer, or fails. */
  UNREACHABLE: 5,
  INTERRUPTED: 130
} as const

/** An error that ends the command with an exit code; its message is printed for the user. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: number

  constructor (exitCode: number, message: string) {
    super(message)
    this.exitCode = exitCode
  }
}

/** The error of an input that the command cannot use. */
export function usageError (message: string): CliError {
  return new CliError(EXIT.USAGE, message)
}
