import { type Log } from '../runtime/telemetry.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { kindPrefix, type Store } from '../store/store.ts'
import { type Kind } from './kinds/entry-kind.ts'
import { type StoreListing } from './store-reads.ts'

/** How long nothing must come back to a scope that comes back bit by bit, before what is still missing counts as deleted, in ms. */
const QUIET_MILLISECONDS = 60_000

export interface StaleGuardOptions {
  readonly kinds: readonly Kind[]
  readonly keyPrefix: string
  readonly nodes: Store['nodes']
  /** How long loaded entries are held while nothing comes back, in ms. */
  readonly emptyHold: number
  readonly log: Log
  /** The loaded keys of a kind. */
  keysOf (kind: Kind): Iterable<string>
  /** Whether the store has reported a change of a key, and the key was not read after that. */
  isAnnounced (key: string): boolean
}

interface Hold {
  /** When the hold began, or something last came back, on the guard's clock. */
  since: number
  /** How many keys the store listed then. */
  listed: number
}

/**
 * Guards loaded entries against a store that has lost them: a flushed database, or a replica that has not synchronised yet, looks as if everything had
 * been deleted. When nothing of what was loaded of a kind, or of a node of the store, is listed any more, and not every deletion was reported, all of it is
 * held: it stays served. A key that comes back ends nothing for the others. A hold ends when all are back, or when nothing has come back for a time.
 */
export class StaleGuard {
  readonly #options: StaleGuardOptions
  readonly #now: () => number
  readonly #holds = new Map<string, Hold>()
  #isReleased = false

  /** @param now a clock in ms */
  constructor (options: StaleGuardOptions, now: () => number = () => performance.now()) {
    this.#options = options
    this.#now = now
  }

  get isHolding (): boolean {
    return this.#holds.size > 0
  }

  /** The kinds whose entries are held. */
  kinds (): Kind[] {
    return this.#options.kinds.filter(({ key }) => this.#holds.has(key))
  }

  /** The nodes of the store whose entries are held. */
  nodes (): string[] {
    return [...this.#holds.keys()].filter(scope => !this.#options.kinds.some(({ key }) => key === scope))
  }

  /** From now until `settle` is called, every listing of the store is believed. A reload of the registry calls this. */
  release (): void {
    this.#holds.clear()
    this.#isReleased = true
  }

  settle (): void {
    this.#isReleased = false
  }

  /**
   * Decides, after a listing of the whole store, what is held.
   * @returns whether the entry of a key stays served although the store does not list it; `undefined` when nothing is held
   */
  async judge (listed: StoreListing): Promise<((key: string) => boolean) | undefined> {
    const { kinds, keyPrefix, nodes, keysOf } = this.#options
    for (const kind of kinds) await this.#judge({ kind: kind.key }, kind.key, keysOf(kind), listed)
    const names = nodes?.names() ?? []
    for (const node of names) await this.#judge({ node }, node, this.#keysOn(node), listed)
    for (const node of this.nodes()) if (!names.includes(node)) this.#holds.delete(node)
    if (!this.isHolding) return undefined
    const prefixes = this.kinds().map(({ key }) => kindPrefix(keyPrefix, key))
    const held = new Set(this.nodes())
    return key => prefixes.some(prefix => key.startsWith(prefix)) || (held.size > 0 && held.has(nodes?.of(key) as string))
  }

  /** Ends the hold of kinds that have no loaded key left, because the store has reported the deletion of the last one. */
  endEmpty (): void {
    for (const kind of this.kinds()) {
      const [first] = this.#options.keysOf(kind)
      if (first === undefined) this.#holds.delete(kind.key)
    }
  }

  async #judge (words: object, scope: string, keys: Iterable<string>, { tallies, isListed }: StoreListing): Promise<void> {
    const { emptyHold, log, isAnnounced } = this.#options
    const { listed, survives } = tallies.get(scope) ?? { listed: 0, survives: false }
    const hold = this.#holds.get(scope)
    if (this.#isReleased || (hold === undefined && survives)) return
    if (!await isSome(keys, key => !isListed(key) && !isAnnounced(key))) {
      if (this.#holds.delete(scope)) log.info(words, 'all that was held is in the store again')
    } else if (hold === undefined) {
      this.#holds.set(scope, { since: this.#now(), listed })
      log.warn(words, 'nothing of what was loaded is in the store any more, and not every delete was seen; it is held')
    } else if (listed !== hold.listed) {
      this.#holds.set(scope, { since: this.#now(), listed })
    } else if (this.#now() - hold.since >= (listed === 0 ? emptyHold : Math.max(emptyHold, QUIET_MILLISECONDS))) {
      this.#holds.delete(scope)
      log.warn(words, 'the hold has ended; what is not in the store is dropped')
    }
  }

  * #keysOn (node: string): Generator<string> {
    const { kinds, keysOf, nodes } = this.#options
    for (const kind of kinds) for (const key of keysOf(kind)) if (nodes?.of(key) === node) yield key
  }
}

async function isSome (keys: Iterable<string>, test: (key: string) => boolean): Promise<boolean> {
  const slices = createSlices()
  for (const key of keys) {
    if (test(key)) return true
    if (slices.isDue()) await slices.pause()
  }
  return false
}
