import { type Terminal } from './terminal.ts'

/** The largest number of terminals in one process, including those that are being opened. */
export const MAX_TERMINALS = 32

/** A terminal with its owner. */
export interface HeldTerminal {
  readonly terminal: Terminal
  /** The name of the API token with which the terminal was opened. */
  readonly owner: string
}

/** The terminals that this process holds. */
export class Terminals {
  readonly #open = new Map<string, HeldTerminal>()
  readonly #opening = new Map<string, { readonly opened: (terminal: Terminal) => void, readonly failed: (error: Error) => void }>()

  /** The number of terminals, including those that are being opened. */
  get size (): number {
    return this.#open.size + this.#opening.size
  }

  /** An open terminal of this owner; `undefined` if the terminal is not open in this process, or has another owner. */
  get (id: string, owner: string): Terminal | undefined {
    const held = this.#open.get(id)
    return held?.owner === owner ? held.terminal : undefined
  }

  /** The folder in which a terminal is, `''` where nobody knows it; `undefined` if the terminal is not open in this process. */
  folderOf (id: string): string | undefined {
    return this.#open.get(id)?.terminal.folder
  }

  /** Sets the reason that the reader of a terminal will be told when the terminal is ended. */
  endsFor (id: string, reason: string): void {
    this.#open.get(id)?.terminal.endsFor(reason)
  }

  has (id: string): boolean {
    return this.#open.has(id) || this.#opening.has(id)
  }

  /** Waits until a terminal is opened by `hold`. @throws the error because of which it cannot be opened */
  async expect (id: string): Promise<Terminal> {
    return await new Promise((resolve, reject) => { this.#opening.set(id, { opened: resolve, failed: reject }) })
  }

  /** Stops expecting a terminal that nobody will open: removes it from the table of terminals that `expect` waits for. */
  forget (id: string): void {
    this.#opening.delete(id)
  }

  /**
   * Opens a terminal, and keeps it in this table until it ends.
   * @param owner the name of the API token with which the terminal is opened
   * @param open opens the terminal
   * @returns the open terminal
   * @throws the error of `open`
   */
  async hold (id: string, owner: string, open: () => Promise<Terminal>): Promise<Terminal> {
    const waiting = this.#opening.get(id)
    try {
      const terminal = await open()
      this.#open.set(id, { terminal, owner })
      void terminal.ended.then(() => { this.#open.delete(id) })
      waiting?.opened(terminal)
      return terminal
    } catch (error) {
      waiting?.failed(error as Error)
      throw error
    } finally {
      this.#opening.delete(id)
    }
  }
}
