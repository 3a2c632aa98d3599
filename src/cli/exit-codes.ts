/** What the program ends with. Scripts rely on them. */
export const EXIT = {
  OK: 0,
  /** The answer is no: not found, a conflict, refused. */
  NO: 1,
  /** The command is wrong, or what was given to it. */
  USAGE: 2,
  /** The token is missing, or may not do this. */
  TOKEN: 4,
  /** The service does not answer, or fails. */
  UNREACHABLE: 5,
  INTERRUPTED: 130
} as const

/** Why a command ends without what was asked for; the message is for people. */
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
