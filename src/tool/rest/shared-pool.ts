/** A thing that can be shared. It has to be closed when its last user has released it. */
export interface Closable { close (): Promise<void> }

/**
 * A pool of things, such as connections, that several tools share. Each is created for the first tool that asks for it, and closed when
 * the last one has released it.
 */
export class SharedPool<T extends Closable> {
  readonly #entries = new Map<string, { readonly value: T, users: number }>()

  /** Gets the thing with a key, and creates it if there is none. Each `acquire` needs a `release`. */
  acquire (key: string, create: () => T): T {
    const entry = this.#entries.get(key) ?? { value: create(), users: 0 }
    entry.users++
    this.#entries.set(key, entry)
    return entry.value
  }

  async release (key: string): Promise<void> {
    const entry = this.#entries.get(key)
    if (entry === undefined || --entry.users > 0) return
    this.#entries.delete(key)
    await entry.value.close()
  }
}
