import { type Log } from '../../base/log.ts'
import { createSlices } from '../../runtime/slices.ts'
import { type Store } from '../../store/store.ts'
import { type Kind } from '../kinds/kind.ts'
import { EmptyHold } from './empty-hold.ts'

/** The inputs that decide about holds. */
export interface KeyHoldsOptions {
  readonly kinds: readonly Kind[]
  readonly nodes: Store['nodes']
  /** How long an empty kind or node is held, in ms. */
  readonly emptyHold: number
  readonly log: Log
  /** The keys of a kind that are loaded. */
  keysOf (kind: Kind): Iterable<string>
  /** Whether the store has told of a key's change, and nobody has read the key since. */
  isAnnounced (key: string): boolean
}

/** Keys that stay in force although the store shows none of their kind, or none of their node. */
export class KeyHolds {
  readonly #options: KeyHoldsOptions
  readonly #hold: EmptyHold

  constructor (options: KeyHoldsOptions) {
    this.#options = options
    this.#hold = new EmptyHold(options.emptyHold)
  }

  /** Whether anything is held. */
  get isHolding (): boolean {
    return this.#hold.held().length > 0
  }

  /** The kinds that are held. */
  kinds (): Kind[] {
    const held = new Set(this.#hold.held())
    return this.#options.kinds.filter(({ key }) => held.has(key))
  }

  /** The nodes of the store that are held. */
  nodes (): string[] {
    return this.#hold.held().filter(scope => !this.#options.kinds.some(({ key }) => key === scope))
  }

  /** Believes whatever the next listing shows. */
  release (): void {
    this.#hold.release()
  }

  /** Ends the time in which every listing is believed, which `release` began. */
  settle (): void {
    this.#hold.settle()
  }

  /**
   * The kinds whose listing is believed; of the others all that is loaded is held.
   * @param counts how many keys of each kind the store shows
   */
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
   * Holds the keys of nodes that show none. A node of a cluster may have been flushed, or have given way to a replica that
   * has not synchronised: its empty listing is no list of deletions.
   * @returns which keys are held; `undefined` when no node is
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

  /** Ends the hold of kinds whose last key was seen to be deleted. */
  endEmpty (): void {
    for (const kind of this.kinds()) {
      const [first] = this.#options.keysOf(kind)
      if (first === undefined) this.#hold.decide(kind.key, [], 0, () => true)
    }
  }

  /** The first loaded key that passes a test and whose deletion the store has not reported. */
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
