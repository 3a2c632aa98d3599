import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Captured } from './captured.ts'
import { ExecutorError, type Ran, type RunOptions } from './executor.ts'
import { readReport, SUPERVISOR } from './shell-scripts.ts'

/** The time that a command has to end after SIGTERM, before it gets SIGKILL, in ms. */
const GRACE = 2000

/** How long to wait for the end of the output streams after a command has ended, in ms. A process outside the command's group can keep the streams open. */
const REST = 500

/** The longest report of the supervising script on how a command ended, in characters. The report contains the path of one folder. */
const MAX_REPORT = 8192

export interface GroupOptions extends Pick<RunOptions, 'timeout' | 'signal' | 'keep' | 'input' | 'onOutput'> {
  readonly cwd: string
  readonly environment: Readonly<Record<string, string>>
}

/**
 * Runs a program in its own process group, so that all processes that it starts can be ended with it. The group is ended at the timeout,
 * when the signal aborts, and when this process dies.
 * @param words the program and its arguments
 * @throws ExecutorError when the program cannot be started
 */
export async function runInGroup (words: readonly string[], options: GroupOptions): Promise<Ran> {
  const started = performance.now()
  const child = spawn('/bin/sh', ['-c', SUPERVISOR, 'sh', ...words], {
    cwd: options.cwd,
    env: options.environment,
    detached: true,
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe', 'pipe', 'pipe']
  })
  const captured = new Captured(options)
  const [, stdout, stderr, reporting, lifeline] = child.stdio as [unknown, Readable, Readable, Readable, Readable]
  // A program can end without reading all of its stdin, which is no error.
  child.stdin?.on('error', () => {}).end(options.input)
  stdout.on('data', (bytes: Buffer) => { captured.append('stdout', bytes) })
  stderr.on('data', (bytes: Buffer) => { captured.append('stderr', bytes) })
  let report = ''
  reporting.on('data', (bytes: Buffer) => { report = (report + bytes.toString()).slice(-MAX_REPORT) })
  // If the supervising script's watcher has closed its end of the pipe first, that is no error.
  lifeline.on('error', () => {})
  const closed = once(child, 'close').catch(() => {})

  const ended = once(child, 'exit')
  const end = new GroupEnd(child, options)
  try {
    await ended
  } catch (error) {
    throw new ExecutorError('COMMAND_INVALID', `the command cannot be begun: ${(error as Error).message}`)
  } finally {
    end.clear()
  }
  await Promise.race([closed, sleep(REST, undefined, { ref: false })])
  for (const stream of [stdout, stderr, reporting, lifeline]) stream.destroy()
  const { exitCode, cwd } = readReport(report)
  const durationMs = Math.round(performance.now() - started)
  if (end.cause !== undefined) {
    return { outcome: end.cause, exitCode: null, signal: end.sent, ...captured.texts(), ...(cwd === undefined ? {} : { cwd }), durationMs }
  }
  return {
    outcome: 'exited',
    exitCode,
    ...(exitCode === null ? { signal: 'SIGKILL' } : {}),
    ...captured.texts(),
    ...(cwd === undefined ? {} : { cwd }),
    durationMs
  }
}

/** Ends a process group at its timeout, or when its signal aborts: by SIGTERM, and by SIGKILL after `GRACE` ms. */
class GroupEnd {
  /** The reason why the group is being ended; `undefined` while nothing ends the group. */
  cause: 'timeout' | 'cancelled' | undefined
  sent: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'
  readonly #child: ChildProcess
  readonly #signal: AbortSignal
  #timer: NodeJS.Timeout
  readonly #cancel = (): void => { this.#end('cancelled') }

  constructor (child: ChildProcess, { timeout, signal }: GroupOptions) {
    this.#child = child
    this.#signal = signal
    this.#timer = setTimeout(() => { this.#end('timeout') }, timeout)
    signal.addEventListener('abort', this.#cancel)
    if (signal.aborted) this.#cancel()
  }

  clear (): void {
    clearTimeout(this.#timer)
    this.#signal.removeEventListener('abort', this.#cancel)
  }

  #end (cause: 'timeout' | 'cancelled'): void {
    if (this.cause !== undefined) return
    this.cause = cause
    this.#send('SIGTERM')
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => { this.#send('SIGKILL') }, GRACE)
  }

  #send (signal: 'SIGTERM' | 'SIGKILL'): void {
    const { pid, exitCode, signalCode } = this.#child
    // When the group's leader has ended, the system has perhaps given the group's number to another group, so no signal is sent.
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    this.sent = signal
    process.kill(-pid, signal)
  }
}
