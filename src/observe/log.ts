import { fstatSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { destination, type Logger, type LoggerOptions, pino } from 'pino'
import { ServiceError } from '../base/errors.ts'

/** Never logged, since they could hold secrets: Pino writes [Redacted]. Paths with `*` would cost time on every line. */
const SECRETS = ['headers', 'req', 'request', 'config', 'environment', 'authorization', 'cookie', 'apiKey', 'password', 'token', 'secret', 'secrets']

/** Lines are written together before they have more bytes than this, or after this time, in ms. */
const BATCH_BYTES = 64 * 1024
const BATCH_MILLISECONDS = 200

/** In bytes: a write of this size stays whole when several processes write to one pipe (PIPE_BUF, man 7 pipe). */
const SHARED_BATCH_BYTES = 4096

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
 * `end` writes the lines that wait, and gives up where nobody reads the standard output; log nothing after it. `abandon` drops them, so that
 * they cannot delay the exit.
 * @param isShared whether other processes write to the same standard output
 */
export function openLog (settings: LogOptions, isShared: boolean) {
  const options = pinoOptions(settings)
  if (process.stdout.isTTY) {
    return {
      log: pino({ ...options, transport: { target: 'pino-pretty', options: { translateTime: 'HH:MM:ss.l', ignore: 'pid,hostname' } } }),
      end: async () => {},
      abandon: () => {}
    }
  }
  const most = isShared && !fstatSync(1).isFile() ? SHARED_BATCH_BYTES : BATCH_BYTES
  // With a length of 0, its `flush` would wait for nothing.
  const how = { dest: 1, sync: false, minLength: 1, maxWrite: most, maxLength: MAX_WAITING_BYTES, contentMode: 'buffer' } as const
  const output = destination(how) as unknown as LogDestination
  const log = pino(options, new LineBatch(output, most))
  logDrops(log, output)
  return { log, end: () => endOutput(log, output), abandon: () => { abandonOutput(output) } }
}

/** Its types know texts alone: https://github.com/pinojs/sonic-boom/blob/v4.2.1/types/index.d.ts */
type LogDestination = Omit<ReturnType<typeof destination>, 'write'> & { write (lines: Buffer): boolean }

/**
 * A write costs as much as making several lines. Pino's destination batches, too, but measures the whole batch at each line:
 * https://github.com/pinojs/sonic-boom/blob/v4.2.1/index.js#L321
 */
class LineBatch {
  readonly #output: LogDestination
  // Not a text: it would outlive V8's young generation before it is written, and each collection would copy it.
  readonly #lines: Buffer
  #length = 0

  constructor (output: LogDestination, most: number) {
    this.#output = output
    this.#lines = Buffer.alloc(most)
    setInterval(() => { this.#pass() }, BATCH_MILLISECONDS).unref()
    // Before pino's own listeners, which then write all that the destination has.
    process.prependListener('beforeExit', () => { this.#pass() }).prependListener('exit', () => { this.#pass() })
  }

  write (line: string): void {
    const length = Buffer.byteLength(line)
    const most = this.#lines.length
    if (this.#length + length > most) this.#pass()
    if (length > most) this.#output.write(Buffer.from(line))
    else this.#length += this.#lines.write(line, this.#length)
  }

  flush (done: (error?: Error) => void): void {
    this.#pass()
    this.#output.flush(done)
  }

  flushSync (): void {
    this.#pass()
    this.#output.flushSync()
  }

  #pass (): void {
    if (this.#length === 0) return
    this.#output.write(Buffer.from(this.#lines.subarray(0, this.#length)))
    this.#length = 0
  }
}

/** Pino's flushSync at exit tries for ever on an unread pipe, hence this: https://github.com/pinojs/sonic-boom/blob/v4.2.1/index.js#L545 */
async function endOutput (log: Logger, output: LogDestination): Promise<void> {
  // Flushed twice: the first flush may only have waited for a write under way. A pipe has no fsync, whose errors these would be.
  const written = flush(log).then(() => flush(log)).then(() => true)
  if (!await Promise.race([written, sleep(END_MILLISECONDS, false)])) abandonOutput(output)
}

function abandonOutput (output: LogDestination): void {
  output.flushSync = () => {}
}

function flush (log: Logger): Promise<void> {
  return new Promise(resolve => { log.flush(() => { resolve() }) })
}

const NEWLINE = 0x0A

function logDrops (log: Logger, output: LogDestination): void {
  let dropped = 0
  output.on('drop', (lines: Buffer) => { for (const byte of lines) if (byte === NEWLINE) dropped++ })
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
