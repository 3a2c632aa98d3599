import { setTimeout as sleep } from 'node:timers/promises'
import { destination, type Logger, type LoggerOptions, pino } from 'pino'
import { ServiceError } from '../base/errors.ts'

/** The fields that are never logged, because they could hold secrets. Pino writes [Redacted] instead. Paths with `*` would cost time on every line. */
const SECRETS = ['headers', 'req', 'request', 'config', 'environment', 'authorization', 'cookie', 'apiKey', 'password', 'token', 'secret', 'secrets']

/** Lines are written together as soon as they have this many bytes, or after this time, in ms. */
const BATCH_BYTES = 3840
const BATCH_MILLISECONDS = 200

/**
 * The greatest size of one write, in bytes. A write of this size stays whole when several processes, such as workers, write to one pipe (PIPE_BUF,
 * man 7 pipe).
 */
const MAX_WRITE_BYTES = 4096

/**
 * The most bytes of log lines that are kept while nobody reads the standard output. Further lines are dropped, so that the log does not use
 * up the memory.
 */
const MAX_WAITING_BYTES = 16 * 1024 * 1024

/** How long the process waits at its end until its last log lines are read, in ms. */
const END_MILLISECONDS = 1000

export interface LogOptions {
  readonly level: string
  /** Whether the values of variables, and the words of tools and models, may be logged. */
  readonly values: boolean
}

/** The service's log, together with the functions that end it. */
export interface OpenLog {
  readonly log: Logger
  /** Writes the lines that are not written yet, unless nobody reads the standard output any more. The caller must log nothing after this. */
  end (): Promise<void>
  /** Drops the lines that are not written yet, so that they cannot delay the exit of the process. */
  abandon (): void
}

/**
 * Opens the service's log: JSON lines on the standard output, or readable text on a terminal. Lines are written in batches, so that
 * requests do not wait for writes. Pino writes the last lines when the process ends, normally or by an error. While nobody reads the
 * standard output, lines get lost, and the log reports later how many.
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
 * Writes the last lines before the process ends, and waits for a limited time only, since it may be that nobody reads them. At the exit pino
 * calls `flushSync`, which tries for ever to write to a pipe that nobody reads any more
 * (https://github.com/pinojs/sonic-boom/blob/v4.2.1/index.js#L545), for example when Ctrl-C also ends the program that reads the log. So
 * everything is written here, before that.
 */
async function endOutput (output: Output): Promise<void> {
  // The output is flushed twice, because the first flush may only have waited for a write that was under way. Errors of a flush need no care:
  // they come from fsync, which a pipe does not have.
  const written = flush(output).then(() => flush(output)).then(() => true)
  if (!await Promise.race([written, sleep(END_MILLISECONDS, false)])) abandonOutput(output)
}

function abandonOutput (output: Output): void {
  output.flushSync = () => {}
}

function flush (output: Output): Promise<void> {
  return new Promise(resolve => { output.flush(() => { resolve() }) })
}

/** Logs how many lines were dropped, as soon as the standard output is read again. */
function logDrops (log: Logger, output: Output): void {
  let dropped = 0
  output.on('drop', () => { dropped++ })
  output.on('drain', () => {
    if (dropped === 0) return
    log.warn({ lines: dropped }, 'log lines were dropped, since nobody took them')
    dropped = 0
  })
}

/** The options of pino that decide what may be in a line, wherever the lines go. */
export function pinoOptions ({ level, values }: LogOptions): LoggerOptions {
  return { level, redact: SECRETS, serializers: { err: (error: Error) => serializeError(error, values) } }
}

/** An error as the log shows it. */
interface LoggedError {
  readonly type: string
  readonly message?: string
  readonly code?: string
  readonly status?: number
  readonly stack?: string
  /** The beginning of what a model's API has answered, when the service could not use the answer. */
  readonly answer?: string
}

/**
 * Turns an error into what the log shows of it. An expected error is shown without its stack and, unless `withValues` is set, without the
 * words that it quotes, because tools and models may repeat secrets that they were sent. An unexpected error is a fault of the service, and
 * is shown completely.
 * @param withValues whether quoted words may be logged
 */
export function serializeError (error: Error, withValues: boolean): LoggedError {
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

/** Whether an error may quote the words of a model or tool: an `UpstreamError` or a `ToolError`. */
function isQuoting (error: Error): error is Error & { readonly summary: string, readonly status?: unknown, readonly answer?: unknown } {
  return 'summary' in error && typeof error.summary === 'string'
}
