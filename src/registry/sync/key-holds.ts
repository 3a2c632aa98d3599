import { type Log } from '../../base/log.ts'
import { createSlices } from '../../runtime/slices.ts'
import { type Store } from '../../store/store.ts'
import { type Kind } from '../kinds/kind.ts'
import { EmptyHold } from './empty-hold.ts'

/** The settings and lookups by which `KeyHolds` decides whose entries are held (stay served although the store lists none). */
export interface KeyHoldsOptions {
  readonly kinds: readonly Kind[]
  readonly nodes: Store['nodes']
  /** How long the loaded entries of a kind or of a node stay served after the store suddenly lists none of them, in ms. */
  readonly emptyHold: number
  readonly log: Log
  /** The loaded keys of a kind. */
  keysOf (kind: Kind): Iterable<string>
  /** Whether the store has reported a change of a key, and the key was not read after that. */
  isAnnounced (key: string): boolean
}

/** Decides which loaded entries are held: they stay served although the store lists no key of their kind, or no key of their node. */
export class KeyHolds {
  readonly #options: KeyHoldsOptions
  readonly #hold: EmptyHold

  constructor (options: KeyHoldsOptions) {
    this.#options = options
    this.#hold = new EmptyHold(options.emptyHold)
  }

  /** Whether any entries are held (stay served although the store lists none of their kind or node). */
  get isHolding (): boolean {
    return this.#hold.held().length > 0
  }

  /** The kinds whose entries are held (stay served although the store lists none of them). */
  kinds (): Kind[] {
    const held = new Set(this.#hold.held())
    return this.#options.kinds.filter(({ key }) => held.has(key))
  }

  /** The nodes of the store whose entries are held (stay served although the node lists none). */
  nodes (): string[] {
    return this.#hold.held().filter(scope => !this.#options.kinds.some(({ key }) => key === scope))
  }

  /** From now until `settle` is called, every listing of the store is believed, even an empty listing. A reload of the registry calls this. */
  release (): void {
    this.#hold.release()
  }

  /** Ends the time, begun by `release`, in which every listing of the store is believed. */
  settle (): void {
    this.#hold.settle()
  }

  /** The kinds whose listing is believed. All loaded entries of the other kinds stay served. @param counts how many keys of each kind the store lists */
  acceptedKinds (counts: ReadonlyMap<Kind, number>): ReadonlySet<Kind> {
    const { kinds, log, keysOf, isAnnounced } = this.#options
    const accepted = kinds.filter(kind => {
      const decision = this.#hold.decide(kind.key, keysOf(kind), counts.get(kind) ?? 0, isAnnounced)
      if (decision === 'held now') log.warn({ kind: kind.key }, 'every key of this kind has gone, and not every delete was seen; what was loaded is held')
      return decision === 'accept'
    })
    return new Set(accepted)
  }

  /**
   * Decides for which nodes of a cluster the loaded entries stay served. A node that lists no key has perhaps been flushed, or replaced by a replica that
   * has not synchronised: its empty listing does not mean that all its keys were deleted.
   * @param empty the nodes that list no key
   * @returns a function that tells whether the entry of a key stays served for that reason; `undefined` when there is no such node
   */
  async holdNodes (empty: ReadonlySet<string>): Promise<((key: string) => boolean) | undefined> {
    const { nodes, log } = this.#options
    if (nodes === undefined) return undefined
    const held = new Set<string>()
    for (const node of nodes.names()) {
      const lost = empty.has(node) ? await this.#firstUnannounced(key => nodes.of(key) === node) : undefined
      const decision = this.#hold.decide(node, lost === undefined ? [] : [lost], empty.has(node) ? 0 : 1, () => false)
      if (decision === 'held now') {
        log.warn({ node }, 'every key of this node of the store has gone, and not every delete was seen; what was loaded is held')
      }
      if (decision !== 'accept') held.add(node)
    }
    return held.size === 0 ? undefined : key => held.has(nodes.of(key) as string)
  }

  /** Ends the hold of kinds that have no loaded key left, because the store has reported the deletion of the last one. */
  endEmpty (): void {
    for (const kind of this.kinds()) {
      const [first] = this.#options.keysOf(kind)
      if (first === undefined) this.#hold.decide(kind.key, [], 0, () => true)
    }
  }

  /** The first loaded key that passes a test and whose deletion the store has not reported; `undefined` when there is none. */
  async #firstUnannounced (test: (key: string) => boolean): Promise<string | undefined> {
    const { kinds, keysOf, isAnnounced } = this.#options
    const slices = createSlices()
    for (const kind of kinds) {
      for (const key of keysOf(kind)) {
        if (test(key) && !isAnnounced(key)) return key
        if (slices.isDue()) await slices.pause()
      }
    }
    return undefined
  }
}
