/** One step of the walk: a node, the nodes that it includes, and the index of the one to visit next. */
interface Frame<T> { readonly node: T, readonly targets: readonly T[], next: number }

/**
 * Finds the endless nodes of a graph: those from which a way leads into a circle of nodes that include each other. Here the nodes are prompts, and only
 * inclusions that happen in every render count. So a render of an endless prompt would never end.
 */
export class PartialCycles<T> {
  readonly #targets: (node: T) => readonly T[]
  /** The nodes looked at so far, each with whether it is endless. */
  readonly #endless = new Map<T, boolean>()

  /** @param targets the nodes that a node includes in any case, whatever the values are */
  constructor (targets: (node: T) => readonly T[]) {
    this.#targets = targets
  }

  /** The way from a node into a circle of nodes, up to the node that closes the circle; `undefined` when no way leads into a circle. */
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

  /**
   * Whether a node is endless. Each node is walked once, however often this is asked. The walk does not recurse, because a chain of partials can be as
   * long as the registry.
   */
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
