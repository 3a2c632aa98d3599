/** Values are made from their sources when they are first asked for, and then kept. Its keys, those that `shows` allows, cost no value. */
export class LazyMap<Source, Value> implements ReadonlyMap<string, Value> {
  readonly #sources: ReadonlyMap<string, Source>
  readonly #make: (source: Source, key: string) => Value
  readonly #shows: ((key: string) => boolean) | undefined
  readonly #made = new Map<string, Value>()

  constructor (sources: ReadonlyMap<string, Source>, make: (source: Source, key: string) => Value, shows?: (key: string) => boolean) {
    this.#sources = sources
    this.#make = make
    this.#shows = shows
  }

  get (key: string): Value | undefined {
    const known = this.#made.get(key)
    if (known !== undefined || !this.has(key)) return known
    const made = this.#make(this.#sources.get(key) as Source, key)
    this.#made.set(key, made)
    return made
  }

  has (key: string): boolean {
    return this.#sources.has(key) && (this.#shows === undefined || this.#shows(key))
  }

  get size (): number {
    return this.#shows === undefined ? this.#sources.size : [...this.keys()].length
  }

  * keys (): MapIterator<string> {
    for (const key of this.#sources.keys()) if (this.#shows === undefined || this.#shows(key)) yield key
  }

  * entries (): MapIterator<[string, Value]> {
    for (const key of this.keys()) yield [key, this.get(key) as Value]
  }

  * values (): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value
  }

  [Symbol.iterator] (): MapIterator<[string, Value]> {
    return this.entries()
  }

  forEach (visit: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this.entries()) visit(value, key, this)
  }
}
