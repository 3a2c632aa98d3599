import { type Terminal } from './terminal.ts'

/** In one process, with those that are being opened. */
export const MAX_TERMINALS = 32

export class Terminals {
  /** `owner`: the name of an API token. */
  readonly #open = new Map<string, { readonly terminal: Terminal, readonly owner: string }>()
  readonly #opening = new Map<string, { readonly opened: (terminal: Terminal) => void, readonly failed: (error: Error) => void }>()

  get size (): number {
    return this.#open.size + this.#opening.size
  }

  get (id: string, owner: string): Terminal | undefined {
    const held = this.#open.get(id)
    return held?.owner === owner ? held.terminal : undefined
  }

  /** `''` where nobody knows it; `undefined` if the terminal is not open in this process. */
  folderOf (id: string): string | undefined {
    return this.#open.get(id)?.terminal.folder
  }

  endsFor (id: string, reason: string): void {
    this.#open.get(id)?.terminal.endsFor(reason)
  }

  has (id: string): boolean {
    return this.#open.has(id) || this.#opening.has(id)
  }

  /** @throws the error because of which it cannot be opened */
  async expect (id: string): Promise<Terminal> {
    return await new Promise((resolve, reject) => { this.#opening.set(id, { opened: resolve, failed: reject }) })
  }

  forget (id: string): void {
    this.#opening.delete(id)
  }

  /** @throws the error of `open` */
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
