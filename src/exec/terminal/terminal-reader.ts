import { type TerminalState } from './shell-state.ts'

/** A reader, such as the connection of a client, gets the output of a terminal. */
export interface TerminalReader {
  /** The size of what was sent to the reader and was not read yet, in bytes. */
  readonly unread: number
  data (text: string): void
  state (state: TerminalState): void
  /** Tells the reader that nothing more comes. @param reason why */
  closed (reason: string): void
  /** Tells the reader that it was cut off, because it is too slow. */
  cut (): void
}

/** The number of bytes that a reader has not read yet at which the terminal's output is paused, and the number down to which it stays paused. */
const [MOST, FEW] = [512 * 1024, 128 * 1024]

/** How often a slow reader's unread bytes are checked, in ms. */
const LOOK = 50

/**
 * The place for the one reader of a terminal. If the reader is slow, the terminal's output is paused until the reader has read enough.
 * While a command of a skill runs, a slow reader is cut off instead.
 */
export class ReaderSeat {
  readonly #pty: { pause (): void, resume (): void }
  readonly #isHurried: () => boolean
  #reader: TerminalReader | undefined
  #look: NodeJS.Timeout | undefined

  /** @param isHurried tells whether the output must not be paused now, because a command of a skill runs */
  constructor (pty: { pause (): void, resume (): void }, isHurried: () => boolean) {
    this.#pty = pty
    this.#isHurried = isHurried
  }

  get isTaken (): boolean {
    return this.#reader !== undefined
  }

  /** Makes this reader the only reader of the terminal. The present reader, if any, is told that another one has attached. */
  take (reader: TerminalReader): void {
    this.leave('attached elsewhere')
    this.#reader = reader
  }

  /** Removes the present reader, which gets no more output and is told the reason. */
  leave (reason: string): void {
    const reader = this.#free()
    reader?.closed(reason)
  }

  /** Removes this reader, if it is still the present one. */
  left (reader: TerminalReader): void {
    if (this.#reader === reader) this.#free()
  }

  data (text: string): void {
    this.#reader?.data(text)
    this.hurry()
    if (this.#look !== undefined || (this.#reader?.unread ?? 0) <= MOST) return
    this.#pty.pause()
    this.#look = setInterval(() => {
      this.hurry()
      if ((this.#reader?.unread ?? 0) <= FEW) this.#goOn()
    }, LOOK)
  }

  state (state: TerminalState): void {
    this.#reader?.state(state)
  }

  /** Cuts off a slow reader, if the output must not be paused now. */
  hurry (): void {
    if ((this.#reader?.unread ?? 0) <= MOST || !this.#isHurried()) return
    const reader = this.#free()
    reader?.cut()
  }

  #free (): TerminalReader | undefined {
    const reader = this.#reader
    this.#reader = undefined
    this.#goOn()
    return reader
  }

  #goOn (): void {
    if (this.#look === undefined) return
    clearInterval(this.#look)
    this.#look = undefined
    this.#pty.resume()
  }
}
