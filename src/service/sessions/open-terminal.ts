import { type Size } from '../../exec/pty.ts'
import { type Terminal } from '../../exec/terminal/terminal.ts'
import { type TerminalReader } from '../../exec/terminal/terminal-reader.ts'

export interface OpenTerminalOptions {
  readonly id: string
  readonly target: string
  readonly terminal: Terminal
  readonly reader: TerminalReader
  /** Checks that the client is still allowed to use the terminal. @throws ServiceError if not */
  readonly check: () => void
  /** Ends the session to which the terminal belongs, and so its shell. */
  readonly end: (reason: string) => Promise<void>
}

/**
 * An open terminal, as one client uses it. Before the terminal takes text or another size, the client's rights are checked again; without them
 * it takes nothing, and ends when its owner's rights are looked at next.
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

  /** Attaches the client to the terminal. Another client that was attached before is told so, and gets nothing more. */
  take (): void {
    this.#options.terminal.attach(this.#options.reader)
  }

  /** Types a text into the terminal. @throws ServiceError if the client is no longer allowed to do so */
  keys (text: string): void {
    this.#options.check()
    this.#options.terminal.keys(text)
  }

  /** Changes the size of the terminal. @throws ServiceError if the client is no longer allowed to use the terminal */
  resize (size: Size): void {
    this.#options.check()
    this.#options.terminal.resize(size)
  }

  /** Ends the terminal and its session, with a reason for the session's log. */
  async end (reason: string): Promise<void> {
    await this.#options.end(reason)
  }

  /** Detaches the client from the terminal, which stays open. */
  leave (): void {
    this.#options.terminal.detach(this.#options.reader)
  }
}
