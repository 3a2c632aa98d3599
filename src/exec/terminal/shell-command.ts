import { Clip } from '../clip.ts'
import { KEPT } from '../executor.ts'

/** Options for running a command in a terminal. */
export interface ShellRunOptions {
  /** The time limit of the command, in ms, from its beginning. In the first 10 minutes, each key that a person types restarts the time. */
  readonly timeout: number
  /** When this signal aborts, a running command is ended, and a command that still waits for an empty input line is not run. */
  readonly signal: AbortSignal
  /** The most bytes that are kept of the command's output: of its beginning and its end together. @default 1 MiB */
  readonly keep?: number
  readonly onOutput?: (text: string) => void
  /** Called once, when the command has to wait until the terminal's input line is empty. */
  readonly onWait?: () => void
  /** Tells whether the command is allowed to begin in this folder, `''` for one that nobody knows. @default it is allowed in any folder */
  readonly mayBeginIn?: (folder: string) => boolean
}

/** How a command in a terminal ended. */
export interface ShellRan {
  /** `lost`: the terminal was lost after the command had been typed, and nobody knows whether the command still runs. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  readonly exitCode: number | null
  /** The command's output, with standard error: a terminal has one stream only. */
  readonly stdout: string
  /** The folder in which the command began; `cwd` is the folder in which the command ended. Both are `''` where nobody knows them. */
  readonly begunIn: string
  readonly cwd: string
  readonly durationMs: number
}

/** For how long, in ms after the start of a command, a typed key restarts the command's time limit. */
const MOST_TIME = 600_000

/** Matches the escape sequences that only style text: colours, the erasures that grep prints beside them, and bracketed paste on and off. */
// eslint-disable-next-line no-control-regex
const STYLES = /\x1b\[(?:[\d;:]*m|K|\?2004[hl])/g

/** Matches an incomplete escape sequence or line end at the end of a part of the output. The rest can come in the next part. */
// eslint-disable-next-line no-control-regex
const HALF = /(?:\x1b(?:\[[\d;:?]{0,32})?|\r)$/

/** One command of a skill in a terminal, from the moment when its line is typed. */
export class ShellCommand {
  readonly text: string
  /** The random id in the command's begin mark (the escape sequence by which the shell tells that the command begins). */
  readonly id: string
  /** The output before the command began: the terminal's echo of the line that was typed to run the command. */
  echo = ''
  hasBegun = false
  /** Whether the shell has shown a prompt after the line was typed, although the shell has not reported that the command began. */
  isPassed = false
  readonly #options: ShellRunOptions
  readonly #folder: string
  readonly #clip: Clip
  /** The end of the output so far, if it is perhaps an incomplete escape sequence or line end. It is kept until the next part of the output comes. */
  #half = ''
  readonly #since = performance.now()
  readonly #settle: (ran: ShellRan) => void
  /** Resolves when the command has ended. */
  readonly ended: Promise<ShellRan>
  /** The reason why the service ends the command; `undefined` as long as nothing ends it. */
  #cause: 'timeout' | 'cancelled' | undefined
  #timer: NodeJS.Timeout | undefined
  #isFinished = false

  /** @param folder folder in which the command begins */
  constructor (text: string, id: string, folder: string, options: ShellRunOptions) {
    this.text = text
    this.id = id
    this.#folder = folder
    this.#options = options
    this.#clip = new Clip(options.keep ?? KEPT)
    let settle = (_ran: ShellRan): void => {}
    this.ended = new Promise(resolve => { settle = resolve })
    this.#settle = settle
  }

  /** Records that the shell has begun to run the command. @param onEnd called when the time limit is reached, or the signal aborts */
  begin (onEnd: () => void): void {
    this.hasBegun = true
    const end = (cause: 'timeout' | 'cancelled'): void => {
      if (this.#cause !== undefined || this.#isFinished) return
      this.#cause = cause
      onEnd()
    }
    this.#timer = setTimeout(() => { end('timeout') }, this.#options.timeout)
    const { signal } = this.#options
    const cancel = (): void => { end('cancelled') }
    signal.addEventListener('abort', cancel, { once: true })
    void this.ended.then(() => {
      clearTimeout(this.#timer)
      signal.removeEventListener('abort', cancel)
    })
    if (signal.aborted) cancel()
  }

  /** Restarts the time limit, because a person has typed something, such as a password or an answer. */
  renew (): void {
    if (this.#cause === undefined && performance.now() - this.#since < MOST_TIME) this.#timer?.refresh()
  }

  /** Adds a part of the output to the result, without the escape sequences for styles: these are useful only on a screen. */
  output (text: string): void {
    const all = this.#half + text
    this.#half = HALF.exec(all)?.[0] ?? ''
    this.#add(all.slice(0, all.length - this.#half.length))
  }

  #flush (): void {
    this.#add(this.#half)
    this.#half = ''
  }

  #add (text: string): void {
    const plain = text.replace(STYLES, '').replaceAll('\r\n', '\n')
    if (plain === '') return
    this.#clip.append(Buffer.from(plain))
    this.#options.onOutput?.(plain)
  }

  /** Ends the command, because the prompt after it has come. @param cwd gives the folder in which it ended; never rejects */
  finish (exitCode: number, cwd: Promise<string>): void {
    if (this.#isFinished) return
    this.#isFinished = true
    clearTimeout(this.#timer)
    this.#flush()
    void cwd.then(folder => { this.#end(this.#cause ?? 'exited', this.#cause === undefined ? exitCode : null, folder) })
  }

  /** Ends the command, because the shell has ended. @param exitCode exit code of the shell @param isConfirmed whether no process of the shell runs any more */
  shellEnded (exitCode: number | null, isConfirmed: boolean): void {
    if (this.#isFinished) return
    if (this.#cause !== undefined) this.#end(isConfirmed ? this.#cause : 'lost', null)
    else this.#end(exitCode === null ? 'lost' : 'exited', exitCode)
  }

  #end (outcome: ShellRan['outcome'], exitCode: number | null, cwd = this.#folder): void {
    this.#flush()
    const stdout = this.#clip.text()
    this.#settle({ outcome, exitCode, stdout, begunIn: this.#folder, cwd, durationMs: Math.round(performance.now() - this.#since) })
  }
}
