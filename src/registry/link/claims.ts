/** An entry that a key offers under an id: a prompt, an agent, a skill or a plan profile. */
export interface Claimed {
  readonly id: string
  readonly origin: 'direct' | 'extension'
}

/** A claim: the value under a key has an entry (`offer`) for an id. The key of an extension makes one claim for each entry that the extension brings. */
export interface Claim<T extends Claimed> {
  readonly key: string
  readonly offer: T
}

/**
 * All claims to the ids of one kind of entries: which key has an entry for which id. Where several keys claim an id, an entry with a key of its own
 * wins, otherwise the extension with the smallest key.
 */
export class Claims<T extends Claimed> {
  /** The claims by id, the winning one first. */
  readonly #claims = new Map<string, readonly Claim<T>[]>()
  /** The ids that several keys claim. */
  readonly #contested = new Set<string>()
  readonly #idsByKey = new Map<string, readonly string[]>()

  /** The entry that is served for an id: that of the winning claim; `undefined` when no key claims the id. */
  get (id: string): T | undefined {
    return this.#claims.get(id)?.[0]?.offer
  }

  /** The ids that a key claims. */
  offeredBy (key: string): readonly string[] {
    return this.#idsByKey.get(key) ?? []
  }

  /** Replaces the claims of a key. @returns whether several keys claim one of the ids, now or before */
  set (key: string, offers: readonly T[]): boolean {
    const ids = new Set([...this.#idsByKey.get(key) ?? [], ...offers.map(({ id }) => id)])
    let isContested = false
    for (const id of ids) {
      isContested ||= this.#contested.has(id)
      const others = (this.#claims.get(id) ?? []).filter(claim => claim.key !== key)
      const own = offers.filter(offer => offer.id === id).map(offer => ({ key, offer }))
      this.#put(id, [...others, ...own].sort(byPrecedence))
      isContested ||= this.#contested.has(id)
    }
    if (offers.length === 0) this.#idsByKey.delete(key)
    else this.#idsByKey.set(key, offers.map(({ id }) => id))
    return isContested
  }

  /** The claims that did not win an id: for each the key, the entry that it offers, and the winning claim. */
  * shadowed (): Generator<readonly [key: string, offer: T, winner: Claim<T>]> {
    for (const id of this.#contested) {
      const [winner, ...others] = this.#claims.get(id) as readonly [Claim<T>, ...Claim<T>[]]
      for (const { key, offer } of others) yield [key, offer, winner]
    }
  }

  #put (id: string, claims: readonly Claim<T>[]): void {
    if (claims.length === 0) this.#claims.delete(id)
    else this.#claims.set(id, claims)
    if (claims.length > 1) this.#contested.add(id)
    else this.#contested.delete(id)
  }
}

/** Orders claims by precedence. Two entries with keys of their own can have one id, when the keys differ only in `.` and `:`; the larger key wins. */
function byPrecedence (one: Claim<Claimed>, other: Claim<Claimed>): number {
  if (one.offer.origin !== other.offer.origin) return one.offer.origin === 'direct' ? -1 : 1
  if (one.key === other.key) return 0
  return (one.key < other.key) === (one.offer.origin === 'extension') ? -1 : 1
}
