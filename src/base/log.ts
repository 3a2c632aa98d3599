/** What every room writes to: the part of a pino logger that is used. Fields come first, so that they are searched by name. */
export interface Log {
  debug (fields: object, message: string): void
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}
