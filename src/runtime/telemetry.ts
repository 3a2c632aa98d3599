/** The functions of a pino logger that the code uses; fields come before the message, so that lines can be searched by field. */
export interface Log {
  debug (fields: object, message: string): void
  info (fields: object, message: string): void
  warn (fields: object, message: string): void
  error (fields: object, message: string): void
}
