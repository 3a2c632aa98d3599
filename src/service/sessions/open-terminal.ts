import { ServiceError } from '../../base/errors.ts'
import { type Size } from '../../exec/pty.ts'
import { type Terminal } from '../../exec/terminal/terminal.ts'
import { type TerminalReader } from '../../exec/terminal/terminal-reader.ts'

export interface OpenTerminalOptions {
  readonly id: string
  readonly target: string
  readonly terminal: Terminal
  readonly reader: TerminalReader
  /** Checks that the reader may still type into the terminal. @throws ServiceError if not */
  readonly check: () => void
  /** Ends the session of the terminal. */
  readonly end: (reason: string) => Promise<void>
}

/**
 * An open terminal, for the one client that is attached to it (its reader). Each call checks the reader's rights again; if they are gone,
 * the terminal ends.
 */
export class OpenTerminal {
  readonly id: string
  readonly target: string
  readonly #options: OpenTerminalOptions

  constructor (options: OpenTerminalOptions) {
    this.id = options.id
    this.target = options.target
    this.#options = options
  }

  /** Attaches the reader to the terminal. A reader who was attached before is told that another one has taken over. */
  take (): void {
    this.#options.terminal.attach(this.#options.reader)
  }

  /** Types a text into the terminal. @throws ServiceError, and types nothing, if the reader has lost the right to it */
  async keys (text: string): Promise<void> {
    await this.check()
    this.#options.terminal.keys(text)
  }

  /** Changes the size of the terminal. @throws ServiceError if the reader has lost the right to it */
  async resize (size: Size): Promise<void> {
    await this.check()
    this.#options.terminal.resize(size)
  }

  /** Ends the terminal and throws if the reader has lost the right to type into it. @throws ServiceError */
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

  /** Detaches the reader. The terminal stays open. */
  leave (): void {
    this.#options.terminal.detach(this.#options.reader)
  }
}
