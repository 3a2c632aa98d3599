/**
 * What every room writes its log lines to: the part of a pino logger that the service uses. Fields come first, so that lines
 * can be searched by field.
 */
export interface Log {
  debug (fields: object, message: string): void
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}
