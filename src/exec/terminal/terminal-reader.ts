import { type TerminalState } from './shell-state.ts'

/** Somebody who sees a terminal. */
export interface TerminalReader {
  /** What was sent and has not been read yet, in bytes. */
  readonly unread: number
  data (text: string): void
  state (state: TerminalState): void
  /** Nothing more comes. */
  closed (reason: string): void
  /** The reader is too slow. */
  cut (): void
}

/** How much a reader may leave unread, in bytes, before the terminal waits for it, and when the terminal goes on. */
const [MOST, FEW] = [512 * 1024, 128 * 1024]

/** How often it is looked whether a slow reader has read, in ms. */
const LOOK = 50

/** The one reader of a terminal. A slow one makes the terminal wait, except while a command of a skill runs: then the reader is cut off. */
export class ReaderSeat {
  readonly #pty: { pause (): void, resume (): void }
  readonly #isHurried: () => boolean
  #reader: TerminalReader | undefined
  #look: NodeJS.Timeout | undefined

  /** @param isHurried whether nobody may make the terminal wait now */
  constructor (pty: { pause (): void, resume (): void }, isHurried: () => boolean) {
    this.#pty = pty
    this.#isHurried = isHurried
  }

  get isTaken (): boolean {
    return this.#reader !== undefined
  }

  /** Whoever sits there is told that somebody else does from now on. */
  take (reader: TerminalReader): void {
    this.leave('attached elsewhere')
    this.#reader = reader
  }

  /** Whoever sits there gets nothing more, and is told why. */
  leave (reason: string): void {
    const reader = this.#free()
    reader?.closed(reason)
  }

  /** A reader has gone, if it sits there still. */
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
