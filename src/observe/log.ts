import { setTimeout as sleep } from 'node:timers/promises'
import { destination, type Logger, type LoggerOptions, pino } from 'pino'
import { ServiceError } from '../base/errors.ts'

/** Never logged, since they could hold secrets: Pino writes [Redacted]. Paths with `*` would cost time on every line. */
const SECRETS = ['headers', 'req', 'request', 'config', 'environment', 'authorization', 'cookie', 'apiKey', 'password', 'token', 'secret', 'secrets']

/** Lines are written together as soon as they have this many bytes, or after this time, in ms. */
const BATCH_BYTES = 3840
const BATCH_MILLISECONDS = 200

/** In bytes: a write of this size stays whole when several processes write to one pipe (PIPE_BUF, man 7 pipe). */
const MAX_WRITE_BYTES = 4096

/** Bytes kept while nobody reads the standard output; further lines are dropped, to spare the memory. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

/** How long the process waits at its end until its last log lines are read, in ms. */
const END_MILLISECONDS = 1000

interface LogOptions {
  readonly level: string
  /** Whether the values of variables, and the words of tools and models, may be logged. */
  readonly values: boolean
}

/**
 * Opens the log: JSON lines, or text on a terminal. Writes are batched, so that requests do not wait; lost lines are counted and reported.
 * Log nothing after `end`, which writes the waiting lines, unless nobody reads the standard output; `abandon` drops them, so that they cannot delay the exit.
 */
export function openLog (settings: LogOptions) {
  const options = pinoOptions(settings)
  if (process.stdout.isTTY) {
    return {
      log: pino({ ...options, transport: { target: 'pino-pretty', options: { translateTime: 'HH:MM:ss.l', ignore: 'pid,hostname' } } }),
      end: async () => {},
      abandon: () => {}
    }
  }
  const output = destination({
    dest: 1,
    sync: false,
    minLength: BATCH_BYTES,
    maxWrite: MAX_WRITE_BYTES,
    maxLength: MAX_WAITING_BYTES,
    periodicFlush: BATCH_MILLISECONDS
  })
  const log = pino(options, output)
  logDrops(log, output)
  return { log, end: () => endOutput(output), abandon: () => { abandonOutput(output) } }
}

type LogDestination = ReturnType<typeof destination>

/** Pino's flushSync at exit tries for ever on an unread pipe, hence this: https://github.com/pinojs/sonic-boom/blob/v4.2.1/index.js#L545 */
async function endOutput (output: LogDestination): Promise<void> {
  // Flushed twice: the first flush may only have waited for a write under way. A pipe has no fsync, whose errors these would be.
  const written = flush(output).then(() => flush(output)).then(() => true)
  if (!await Promise.race([written, sleep(END_MILLISECONDS, false)])) abandonOutput(output)
}

function abandonOutput (output: LogDestination): void {
  output.flushSync = () => {}
}

function flush (output: LogDestination): Promise<void> {
  return new Promise(resolve => { output.flush(() => { resolve() }) })
}

function logDrops (log: Logger, output: LogDestination): void {
  let dropped = 0
  output.on('drop', () => { dropped++ })
  output.on('drain', () => {
    if (dropped === 0) return
    log.warn({ lines: dropped }, 'log lines were dropped, since nobody took them')
    dropped = 0
  })
}

export function pinoOptions ({ level, values }: LogOptions): LoggerOptions {
  return { level, redact: SECRETS, serializers: { err: (error: Error) => serializeError(error, values) } }
}

/** Hides the stack and, without `withValues`, the quoted words of an expected error: tools and models may repeat secrets. */
export function serializeError (
  error: Error,
  withValues: boolean
): { type: string, message?: string, code?: string, status?: number, stack?: string, answer?: string } {
  if (error instanceof ServiceError) return { type: error.name, code: error.code, status: error.statusCode, ...(withValues ? { message: error.message } : {}) }
  if (isQuoting(error)) {
    const { name, summary, message, status, answer } = error
    return {
      type: name,
      message: withValues ? message : summary,
      ...(typeof status === 'number' ? { status } : {}),
      ...(withValues && typeof answer === 'string' ? { answer } : {})
    }
  }
  return pino.stdSerializers.err(error)
}

function isQuoting (error: Error): error is Error & { readonly summary: string, readonly status?: unknown, readonly answer?: unknown } {
  return 'summary' in error && typeof error.summary === 'string'
}
