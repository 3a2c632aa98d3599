import { type TerminalState } from './shell-state.ts'

/** A reader of a terminal's output, such as a client's connection. */
export interface TerminalReader {
  /** How much was sent to the reader and has not been read yet, in bytes. */
  readonly unread: number
  data (text: string): void
  state (state: TerminalState): void
  /** Tells the reader that nothing more comes. @param reason why */
  closed (reason: string): void
  /** Tells the reader that it was cut off, because it is too slow. */
  cut (): void
}

/** How much a reader may leave unread, in bytes, before the terminal waits for it, and when the terminal goes on. */
const [MOST, FEW] = [512 * 1024, 128 * 1024]

/** How often a slow reader's unread bytes are checked, in ms. */
const LOOK = 50

/** The one reader of a terminal. A slow one makes the terminal wait, except while a command of a skill runs: then the reader is cut off. */
export class ReaderSeat {
  readonly #pty: { pause (): void, resume (): void }
  readonly #isHurried: () => boolean
  #reader: TerminalReader | undefined
  #look: NodeJS.Timeout | undefined

  /** @param isHurried says whether no reader may make the terminal wait now */
  constructor (pty: { pause (): void, resume (): void }, isHurried: () => boolean) {
    this.#pty = pty
    this.#isHurried = isHurried
  }

  get isTaken (): boolean {
    return this.#reader !== undefined
  }

  /** Gives the seat to a reader. The present reader is told that another one has attached. */
  take (reader: TerminalReader): void {
    this.leave('attached elsewhere')
    this.#reader = reader
  }

  /** Frees the seat. The present reader gets nothing more, and is told the reason. */
  leave (reason: string): void {
    const reader = this.#free()
    reader?.closed(reason)
  }

  /** Frees the seat if this reader still has it. */
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

  /** Cuts off a slow reader while nobody may make the terminal wait. */
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
