/** A read-only view of a map that hides or changes entries. Nothing is copied, so a view of many entries costs nothing until somebody lists them. */
export class MapView<T> implements ReadonlyMap<string, T> {
  readonly #all: ReadonlyMap<string, T>
  readonly #show: (value: T, key: string) => T | undefined

  /** @param show turns an entry into its visible form; `undefined` hides the entry */
  constructor (all: ReadonlyMap<string, T>, show: (value: T, key: string) => T | undefined) {
    this.#all = all
    this.#show = show
  }

  get (key: string): T | undefined {
    const value = this.#all.get(key)
    return value === undefined ? undefined : this.#show(value, key)
  }

  has (key: string): boolean {
    return this.get(key) !== undefined
  }

  get size (): number {
    return [...this.entries()].length
  }

  * entries (): MapIterator<[string, T]> {
    for (const [key, value] of this.#all) {
      const shown = this.#show(value, key)
      if (shown !== undefined) yield [key, shown]
    }
  }

  * keys (): MapIterator<string> {
    for (const [key] of this.entries()) yield key
  }

  * values (): MapIterator<T> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator] (): MapIterator<[string, T]> {
    return this.entries()
  }

  forEach (visit: (value: T, key: string, map: ReadonlyMap<string, T>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this)
  }
}
