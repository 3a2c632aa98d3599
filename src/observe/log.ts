import { setTimeout as sleep } from 'node:timers/promises'
import { destination, pino, type Logger, type LoggerOptions } from 'pino'
import { serializeError } from './serialize-error.ts'

/**
 * Fields that would hold secrets if somebody ever logged them. Pino writes [Redacted] instead. Paths with `*` would cost time
 * on every line.
 */
const SECRETS = ['headers', 'req', 'request', 'config', 'environment', 'authorization', 'cookie', 'apiKey', 'password', 'token', 'secret', 'secrets']

/** Lines are gathered up to so many bytes, and for so many ms, before they are written. */
const BATCH_BYTES = 3840
const BATCH_MILLISECONDS = 200

/** A write of up to so many bytes stays whole when several processes write to one pipe (PIPE_BUF, man 7 pipe). Workers share a pipe. */
const MAX_WRITE_BYTES = 4096

/** How much may wait for a reader that has stopped, in bytes, before lines are dropped: a log must not cost the service its memory. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

/** How long the end waits for a reader, in ms. */
const END_MILLISECONDS = 1000

export interface LogOptions {
  readonly level: string
  /** Whether values of variables, and words of tools and models, may be logged. */
  readonly values: boolean
}

/** The service's log, and the way to end it. */
export interface OpenLog {
  readonly log: Logger
  /** Writes what is left, unless nobody takes it. To be called last. */
  end (): Promise<void>
  /** Gives up what is left, so that nothing is in the way of an exit. */
  abandon (): void
}

/**
 * The service's log: JSON lines on the standard output, or readable text on a terminal. Lines are written in batches, off the
 * hot path. Pino writes the rest when the process ends, by itself or by an error. A reader that stops loses lines, and the
 * log says how many.
 */
export function openLog (settings: LogOptions): OpenLog {
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

type Output = ReturnType<typeof destination>

/**
 * At the exit pino calls `flushSync`, which tries for ever to write to a pipe whose reader has gone
 * (https://github.com/pinojs/sonic-boom/blob/v4.2.1/index.js#L545), as when Ctrl-C ends both sides. Pino gives up after a
 * write that has failed before, so everything is written here. A reader that has stopped is not waited for.
 */
async function endOutput (output: Output): Promise<void> {
  // The first may only have waited for a write that was under way. Their errors are those of fsync, which a pipe has not.
  const written = flush(output).then(() => flush(output)).then(() => true)
  if (!await Promise.race([written, sleep(END_MILLISECONDS, false)])) abandonOutput(output)
}

function abandonOutput (output: Output): void {
  output.flushSync = () => {}
}

function flush (output: Output): Promise<void> {
  return new Promise(resolve => { output.flush(() => { resolve() }) })
}

/** Says how many lines are missing, as soon as there is a reader again. */
function logDrops (log: Logger, output: Output): void {
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
