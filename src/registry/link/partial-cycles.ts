interface Frame<T> { readonly node: T, readonly targets: readonly T[], next: number }

/** Finds what can never end, since it calls itself, through others or not, with no condition on the way. */
export class PartialCycles<T> {
  readonly #targets: (node: T) => readonly T[]
  /** Whether it never ends, for those that have been looked at. */
  readonly #endless = new Map<T, boolean>()

  /** @param targets what one certainly calls */
  constructor (targets: (node: T) => readonly T[]) {
    this.#targets = targets
  }

  /** The way from one into a circle, ending with the one that closes it; `undefined` when it ends. */
  find (node: T): readonly T[] | undefined {
    if (!this.isEndless(node)) return undefined
    const way = [node]
    for (let last = node; ;) {
      const next = this.#targets(last).find(target => this.isEndless(target)) as T
      const isClosed = way.includes(next)
      way.push(next)
      if (isClosed) return way
      last = next
    }
  }

  /** Each is walked once, however often this is asked. Not recursive: a chain of partials can be as long as the registry. */
  isEndless (node: T): boolean {
    const known = this.#endless.get(node)
    if (known !== undefined) return known
    const stack = [this.#frame(node)]
    const onStack = new Set([node])
    for (let frame = stack.at(-1); frame !== undefined; frame = stack.at(-1)) {
      const target = frame.targets[frame.next++]
      if (target === undefined) {
        this.#endless.set(frame.node, false)
        onStack.delete(frame.node)
        stack.pop()
      } else if (onStack.has(target) || this.#endless.get(target) === true) {
        for (const each of onStack) this.#endless.set(each, true)
        return true
      } else if (!this.#endless.has(target)) {
        stack.push(this.#frame(target))
        onStack.add(target)
      }
    }
    return false
  }

  #frame (node: T): Frame<T> {
    return { node, targets: this.#targets(node), next: 0 }
  }
}
