import { type Log } from '../runtime/telemetry.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { kindPrefix, type Store } from '../store/store.ts'
import { type Kind } from './kinds/entry-kind.ts'
import { type StoreListing } from './store-reads.ts'

/** In ms: after so long without a return, what is still missing counts as deleted. */
const QUIET_MILLISECONDS = 60_000

interface StaleGuardOptions {
  readonly kinds: readonly Kind[]
  readonly keyPrefix: string
  readonly nodes: Store['nodes']
  /** In ms, while nothing comes back. */
  readonly emptyHold: number
  readonly log: Log
  keysOf (kind: Kind): Iterable<string>
  isAnnounced (key: string): boolean
}

/**
 * Guards loaded entries against a store that has lost them: a flushed database, or a replica that has not synchronised yet, looks as if everything had
 * been deleted. When nothing of what was loaded of a kind, or of a node of the store, is listed any more, and not every deletion was reported, all of it is
 * held: it stays served. A key that comes back ends nothing for the others. A hold ends when all are back, or when nothing has come back for a time.
 */
export class StaleGuard {
  readonly #options: StaleGuardOptions
  readonly #now: () => number
  readonly #holds = new Map<string, { since: number, listed: number }>()
  #isReleased = false

  constructor (options: StaleGuardOptions, now: () => number = () => performance.now()) {
    this.#options = options
    this.#now = now
  }

  get isHolding (): boolean {
    return this.#holds.size > 0
  }

  kinds (): Kind[] {
    return this.#options.kinds.filter(({ key }) => this.#holds.has(key))
  }

  nodes (): string[] {
    return [...this.#holds.keys()].filter(scope => !this.#options.kinds.some(({ key }) => key === scope))
  }

  /** Until `settle`, every listing is believed; a reload calls this. */
  release (): void {
    this.#holds.clear()
    this.#isReleased = true
  }

  settle (): void {
    this.#isReleased = false
  }

  /** Returns whether an unlisted key's entry stays served; `undefined` when nothing is held. */
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
