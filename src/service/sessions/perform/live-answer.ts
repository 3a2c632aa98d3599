import { type JsonObject } from '../../../base/json.ts'

/** How long text is gathered before followers get it, in ms: too short for people to notice. Text that comes after a longer silence is sent at once. */
const PAUSE = 15

/** How much of one answer followers get live, in UTF-16 units. The whole answer is in the effect's result. */
const MOST = 256 * 1024

/** Passes a model's answer to the followers of its session while it is being written: in few parts, bounded, never stored. */
export class LiveAnswer {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  #waiting = ''
  #left = MOST
  #hasTold: boolean
  /** When text was last sent, on the clock of `performance.now()`. */
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  /** @param isAgain whether the effect was begun before, so that followers may already have a part of an earlier answer */
  constructor (effect: string, publish: (live: JsonObject) => void, isAgain: boolean) {
    this.#effect = effect
    this.#publish = publish
    this.#hasTold = isAgain
    this.begin()
  }

  /** Begins an attempt. Followers are told to drop the text of an earlier one. */
  begin (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = ''
    this.#left = MOST
    if (this.#hasTold) this.#publish({ type: 'llm.reset', effect: this.#effect })
    this.#hasTold = false
  }

  append (text: string): void {
    if (text === '' || this.#left === 0) return
    const part = text.slice(0, this.#left)
    this.#left -= part.length
    this.#waiting += part
    const rest = this.#toldAt + PAUSE - performance.now()
    if (rest <= 0) this.end()
    else this.#timer ??= setTimeout(() => { this.end() }, rest)
  }

  /** Sends the text that is still held back. */
  end (): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const text = this.#waiting
    if (text === '') return
    this.#waiting = ''
    this.#hasTold = true
    this.#toldAt = performance.now()
    this.#publish({ type: 'llm.delta', effect: this.#effect, text })
  }
}
