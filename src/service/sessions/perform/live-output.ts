import { type JsonObject } from '../../../base/json.ts'
import { type Stream } from '../../../exec/executor.ts'

/** The time for which output is collected before the followers of the session (clients that get its events) receive it, in ms. */
const PAUSE = 100

/** The most output of one command that the session's followers get while the command runs, in UTF-16 units. The command's result can keep more. */
const MOST = 256 * 1024

/** Publishes the output of a command to the followers of a session while it runs: in few pieces, and up to a limit. */
export class LiveOutput {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  readonly #waiting: Record<Stream, string> = { stdout: '', stderr: '' }
  #left = MOST
  #timer: NodeJS.Timeout | undefined

  constructor (effect: string, publish: (live: JsonObject) => void) {
    this.#effect = effect
    this.#publish = publish
  }

  append (stream: Stream, text: string): void {
    if (this.#left === 0) return
    const part = text.slice(0, this.#left)
    this.#left -= part.length
    this.#waiting[stream] += this.#left === 0 ? `${part}\n...[TRUNCATED]...\n` : part
    this.#timer ??= setTimeout(() => { this.#flush() }, PAUSE)
  }

  /** Sends the output that was collected and is not sent yet. */
  end (): void {
    this.#flush()
  }

  #flush (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    for (const stream of ['stdout', 'stderr'] as const) {
      const text = this.#waiting[stream]
      this.#waiting[stream] = ''
      if (text !== '') this.#publish({ type: 'command.output', effect: this.#effect, stream, text })
    }
  }
}
