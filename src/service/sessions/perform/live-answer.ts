import { type JsonObject } from '../../../base/json.ts'

/** The time for which text is collected before the session's followers get it, in ms: people do not notice it. After a longer silence, text is sent at once. */
const PAUSE = 15

/** The longest part of one answer that the session's followers get while the model writes, in UTF-16 units. The effect's result has the whole answer. */
const MOST = 256 * 1024

/** Publishes a model's answer to the followers of a session while it is being written: in few pieces, up to a limit, and never stored. */
export class LiveAnswer {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  #waiting = ''
  #left = MOST
  #hasTold: boolean
  /** The time at which text was last sent, in ms of `performance.now()`. */
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  /**
   * Begins to publish the answer to one question. @param isAgain whether the model was asked before a crash, so that followers perhaps have
   * pieces of an earlier answer
   */
  constructor (effect: string, publish: (live: JsonObject) => void, isAgain: boolean) {
    this.#effect = effect
    this.#publish = publish
    this.#hasTold = isAgain
    this.begin()
  }

  /** Begins a new attempt to get the answer. The session's followers are told to drop the text of the attempt before. */
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

  /** Sends the text that was collected and is not sent yet. */
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
