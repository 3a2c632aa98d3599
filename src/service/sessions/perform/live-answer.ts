import { type JsonObject } from '../../../base/json.ts'

/** How long words are gathered before followers get them, in ms, of which people see nothing; what comes after such a pause is told at once. */
const PAUSE = 15

/** How much followers get of one answer, in UTF-16 units; the whole is in its result. */
const MOST = 256 * 1024

/** What a model says, as the followers of its session get it while it is being written: in few parts, bounded, never stored. */
export class LiveAnswer {
  readonly #effect: string
  readonly #publish: (live: JsonObject) => void
  #waiting = ''
  #left = MOST
  #hasTold: boolean
  /** On the clock of `performance.now()`. */
  #toldAt = -Infinity
  #timer: NodeJS.Timeout | undefined

  /** @param isAgain whether followers may have heard a part of it from another process */
  constructor (effect: string, publish: (live: JsonObject) => void, isAgain: boolean) {
    this.#effect = effect
    this.#publish = publish
    this.#hasTold = isAgain
    this.begin()
  }

  /** An attempt begins: what was told of another one does not count. */
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

  /** Tells what is left. */
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
