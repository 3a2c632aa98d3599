import { destination, pino, type Logger, type LoggerOptions } from 'pino'
import { serializeError } from './serialize-error.ts'

/** Fields that might hold secrets, should anybody ever log them; pino writes [Redacted] instead. Paths with `*` would cost every line. */
const SECRETS = ['headers', 'req', 'request', 'config', 'environment', 'authorization', 'cookie', 'apiKey', 'password', 'token', 'secret', 'secrets']

/** Lines are gathered up to so many bytes, and for so many ms, before they are written. */
const BATCH_BYTES = 3840
const BATCH_MILLISECONDS = 200

/** What several processes write to one pipe stays whole up to so many bytes (PIPE_BUF, man 7 pipe): workers share theirs. */
const MAX_WRITE_BYTES = 4096

/** How much may wait for a reader that has stopped, before lines are dropped, in bytes: a log must not cost the service its memory. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

export interface LogOptions {
  readonly level: string
  /** Whether values of variables, and words of tools and models, may be logged. */
  readonly values: boolean
}

/**
 * The service's log: JSON lines on the standard output, or readable text on a terminal. Lines are written in batches off
 * the hot path; pino writes what is left when the process ends, by itself or by an error. A reader that stops loses lines, and
 * is told how many.
 */
export function createLog (settings: LogOptions): Logger {
  const options = pinoOptions(settings)
  if (process.stdout.isTTY) return pino({ ...options, transport: { target: 'pino-pretty', options: { translateTime: 'HH:MM:ss.l', ignore: 'pid,hostname' } } })
  const output = destination({ dest: 1, sync: false, minLength: BATCH_BYTES, maxWrite: MAX_WRITE_BYTES, maxLength: MAX_WAITING_BYTES, periodicFlush: BATCH_MILLISECONDS })
  const log = pino(options, output)
  tellOfDrops(log, output)
  return log
}

/** Says how many lines are missing, as soon as there is a reader again. */
function tellOfDrops (log: Logger, output: ReturnType<typeof destination>): void {
  let dropped = 0
  output.on('drop', () => { dropped++ })
  output.on('drain', () => {
    if (dropped === 0) return
    log.warn({ lines: dropped }, 'log lines were dropped, since nobody took them')
    dropped = 0
  })
}

/** What may be in a line, wherever it goes. */
export function pinoOptions ({ level, values }: LogOptions): LoggerOptions {
  return { level, redact: SECRETS, serializers: { err: (error: Error) => serializeError(error, values) } }
}
