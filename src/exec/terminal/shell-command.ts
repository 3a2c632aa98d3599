import { Clip } from '../clip.ts'
import { KEPT } from '../executor.ts'

/** How a command is run in a terminal. */
export interface ShellRunOptions {
  /** In ms, from its begin mark on. A key renews it. */
  readonly timeout: number
  /** Ends the command, or the waiting for its turn, when it aborts. */
  readonly signal: AbortSignal
  /** How much of its output is kept, in bytes. @default 1 MiB */
  readonly keep?: number
  readonly onOutput?: (text: string) => void
  /** Called once, when the command has to wait until the line of the person is empty. */
  readonly onWait?: () => void
  /** Whether the command may begin in a folder. @default in any */
  readonly mayBeginIn?: (folder: string) => boolean
}

/** How a command in a terminal ended. */
export interface ShellRan {
  /** `lost`: it began, and nobody knows whether it goes on. */
  readonly outcome: 'exited' | 'timeout' | 'cancelled' | 'lost'
  readonly exitCode: number | null
  /** Standard error, too: a terminal has one stream. */
  readonly stdout: string
  /** Where it began, and where it ended. */
  readonly begunIn: string
  readonly cwd: string
  readonly durationMs: number
}

/** However often a key renews its time, a command has no more, in ms. */
const MOST_TIME = 600_000

/** What bash tells a terminal before each line that is typed, and behind it. */
// eslint-disable-next-line no-control-regex
const PASTE_MODE = /\x1b\[\?2004[hl]/g

/** One command of a skill, from the moment in which its line is typed. */
export class ShellCommand {
  readonly text: string
  /** What its begin mark says. */
  readonly id: string
  /** What came before its begin mark: the echo of the line. */
  echo = ''
  hasBegun = false
  /** Whether a prompt has come, and no begin mark. */
  isPassed = false
  readonly #options: ShellRunOptions
  readonly #folder: string
  readonly #clip: Clip
  readonly #since = performance.now()
  readonly #settle: (ran: ShellRan) => void
  /** Resolves when it has ended. */
  readonly ended: Promise<ShellRan>
  /** Why it is to end. */
  #cause: 'timeout' | 'cancelled' | undefined
  #timer: NodeJS.Timeout | undefined

  /** @param folder in which it begins */
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

  /** Its begin mark has come. @param onEnd called when its time is over or nobody wants it any more */
  begin (onEnd: () => void): void {
    this.hasBegun = true
    const end = (cause: 'timeout' | 'cancelled'): void => {
      if (this.#cause !== undefined) return
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

  /** Somebody has typed: a password, an answer. */
  renew (): void {
    if (this.#cause === undefined && performance.now() - this.#since < MOST_TIME) this.#timer?.refresh()
  }

  output (text: string): void {
    const plain = text.replace(PASTE_MODE, '')
    if (plain === '') return
    this.#clip.append(Buffer.from(plain))
    this.#options.onOutput?.(plain.replaceAll('\r\n', '\n'))
  }

  /** A prompt has come behind it. */
  finish (exitCode: number, cwd: string): void {
    this.#end(this.#cause ?? 'exited', this.#cause === undefined ? exitCode : null, cwd)
  }

  /** The shell has ended. @param exitCode of the shell @param isConfirmed whether nothing of it runs any more, where it was to end */
  shellEnded (exitCode: number | null, isConfirmed: boolean): void {
    if (this.#cause !== undefined) this.#end(isConfirmed ? this.#cause : 'lost', null)
    else this.#end(exitCode === null ? 'lost' : 'exited', exitCode)
  }

  #end (outcome: ShellRan['outcome'], exitCode: number | null, cwd = this.#folder): void {
    const stdout = this.#clip.text().replaceAll('\r\n', '\n')
    this.#settle({ outcome, exitCode, stdout, begunIn: this.#folder, cwd, durationMs: Math.round(performance.now() - this.#since) })
  }
}
