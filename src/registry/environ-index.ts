/** Names whose place in the tree is remembered, so that a render's look-ups are one hash each. */
const MAX_REMEMBERED = 50_000

/**
 * The names of all shared variables, `vscode.rules`, in one flat sorted list: a tree of maps would cost three times the
 * memory. Sorted by code units, so that everything below `a.b` lies between `a.b.` and `a.b/`.
 */
export class EnvironIndex {
  #names: readonly string[] = []
  readonly #remembered = new Map<string, boolean>()

  /** Takes a new whole set of names, sorted and without repeats. */
  replace (names: readonly string[]): void {
    this.#names = names
    this.#remembered.clear()
  }

  get size (): number {
    return this.#names.length
  }

  /** All names that begin with `prefix` and come after `after`, at most `limit`. */
  page (prefix: string, after: string, limit: number): readonly string[] {
    const start = after >= prefix ? this.#after(after) : this.#from(prefix)
    const page: string[] = []
    for (let index = start; index < this.#names.length && page.length < limit; index++) {
      const name = this.#names[index] as string
      if (!name.startsWith(prefix)) break
      page.push(name)
    }
    return page
  }

  has (name: string): boolean {
    return this.#remember(name, () => this.#names[this.#from(name)] === name)
  }

  hasBelow (name: string): boolean {
    const prefix = `${name}.`
    return this.#remember(prefix, () => this.#names[this.#from(prefix)]?.startsWith(prefix) ?? false)
  }

  /** @see EnvironSource.namesBelow */
  namesBelow (name: string, limit: number): readonly string[] | undefined {
    const [start, end] = this.#range(name)
    return end - start > limit ? undefined : this.#names.slice(start, end)
  }

  /** @see EnvironSource.segmentsBelow */
  segmentsBelow (name: string): readonly string[] {
    const skip = name === '' ? 0 : name.length + 1
    const [start, end] = this.#range(name)
    const segments: string[] = []
    for (let index = start; index < end;) {
      const path = this.#names[index] as string
      const dot = path.indexOf('.', skip)
      const segment = dot === -1 ? path.slice(skip) : path.slice(skip, dot)
      if (segments.at(-1) !== segment) segments.push(segment)
      // A leaf is one name; a branch is jumped over, however large it is.
      index = dot === -1 ? index + 1 : this.#from(`${path.slice(0, dot)}/`)
    }
    return [...new Set(segments)].sort()
  }

  * [Symbol.iterator] (): Generator<string> {
    yield * this.#names
  }

  #range (name: string): [start: number, end: number] {
    return name === '' ? [0, this.#names.length] : [this.#from(`${name}.`), this.#from(`${name}/`)]
  }

  /** Where the first name that is not before `name` stands. */
  #from (name: string): number {
    let low = 0
    let high = this.#names.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#names[middle] as string) < name) low = middle + 1
      else high = middle
    }
    return low
  }

  #after (name: string): number {
    const start = this.#from(name)
    return this.#names[start] === name ? start + 1 : start
  }

  #remember (question: string, answer: () => boolean): boolean {
    const known = this.#remembered.get(question)
    if (known !== undefined) return known
    const found = answer()
    if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
    this.#remembered.set(question, found)
    return found
  }
}
