import { ServiceError } from '../../base/errors.ts'
import { type Size } from '../../exec/pty.ts'
import { type Terminal } from '../../exec/terminal/terminal.ts'
import { type TerminalReader } from '../../exec/terminal/terminal-reader.ts'

export interface OpenTerminalOptions {
  readonly id: string
  readonly target: string
  readonly terminal: Terminal
  readonly reader: TerminalReader
  /** Whether the reader may still type there. @throws ServiceError when not */
  readonly check: () => void
  /** Ends the session of the terminal. */
  readonly end: (reason: string) => Promise<void>
}

/** A seat in front of a terminal. Rights are asked for again at whatever is done there: when they are gone, the terminal ends. */
export class OpenTerminal {
  readonly id: string
  readonly target: string
  readonly #options: OpenTerminalOptions

  constructor (options: OpenTerminalOptions) {
    this.id = options.id
    this.target = options.target
    this.#options = options
  }

  /** Takes the seat. Whoever sat there is told so. */
  take (): void {
    this.#options.terminal.attach(this.#options.reader)
  }

  /** Types a text into the terminal. @throws ServiceError when the caller has no right to it any more; nothing is typed then */
  async keys (text: string): Promise<void> {
    await this.check()
    this.#options.terminal.keys(text)
  }

  /** @throws ServiceError when the rights are gone */
  async resize (size: Size): Promise<void> {
    await this.check()
    this.#options.terminal.resize(size)
  }

  /** Ends the terminal when its reader may not type there any more. @throws ServiceError then */
  async check (): Promise<void> {
    const { check, end } = this.#options
    try {
      check()
    } catch (error) {
      if (error instanceof ServiceError) await end(error.message)
      throw error
    }
  }

  /** Ends the terminal. */
  async end (reason: string): Promise<void> {
    await this.#options.end(reason)
  }

  /** Leaves the seat: the terminal stays open. */
  leave (): void {
    this.#options.terminal.detach(this.#options.reader)
  }
}
