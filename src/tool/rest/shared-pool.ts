/** A resource that can be shared and must be closed in the end. */
export interface Closable { close (): Promise<void> }

/** Resources, such as connections, that several tools share. Each is made for the first tool that asks, and closed after the last tool has released it. */
export class SharedPool<T extends Closable> {
  readonly #entries = new Map<string, { readonly value: T, users: number }>()

  /** Gives the resource with a key. Every `acquire` needs a `release`. */
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
