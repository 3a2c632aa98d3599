import { LRUCache } from 'lru-cache'
import { kindPrefix, type Store, type StoredValue, StoreError } from '../store/store.ts'
import type { Kind } from './kinds/entry-kind.ts'
import type { EnvironListing } from './kinds/environ-names.ts'

/** The greatest number of keys that the store is asked for at a time; further ones count as absent. */
const MAX_UNDER_WAY = 64

/** How long a key that the store did not have is not asked for again, in ms, and the greatest number of such keys that are remembered. */
const ABSENT_MS = 1000
const MAX_ABSENT = 10_000

/**
 * Asks the store for keys that are not loaded, since the store has perhaps not yet reported a key that was stored a moment ago. Callers can invent as
 * many keys as they like. So a key that the store did not have is asked for at most once a second, and only few keys are asked for at a time.
 */
export class Seeker {
  readonly #store: Pick<Store, 'has'>
  readonly #load: (key: string) => Promise<void>
  readonly #underWay = new Map<string, Promise<boolean>>()
  // The bound is a sum of sizes of 1, because the cache would reserve half a megabyte at once for a maximum number of entries.
  readonly #absent = new LRUCache<string, true>({ maxSize: MAX_ABSENT, sizeCalculation: () => 1, ttl: ABSENT_MS })

  /** @param load loads the entry of a key that the store has */
  constructor (store: Pick<Store, 'has'>, load: (key: string) => Promise<void>) {
    this.#store = store
    this.#load = load
  }

  /**
   * Asks the store for a key. It does not ask when the store did not have the key a moment ago, or when too many keys are being asked for.
   * @returns whether the key was found, and is loaded by now
   */
  seek (key: string): Promise<boolean> {
    const known = this.#underWay.get(key)
    if (known !== undefined) return known
    if (this.#absent.has(key) || this.#underWay.size >= MAX_UNDER_WAY) return Promise.resolve(false)
    const answer = this.#ask(key).then(isFound => {
      if (!isFound) this.#absent.set(key, true)
      return isFound
    }).finally(() => this.#underWay.delete(key))
    this.#underWay.set(key, answer)
    return answer
  }

  /** Asks the store for one key. In an outage nothing is found; the next read of the whole store reports the outage. */
  async #ask (key: string): Promise<boolean> {
    try {
      const [exists] = await this.#store.has([key])
      if (exists === true) await this.#load(key)
      return exists === true
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return false
    }
  }
}

/** How many keys one round trip reads. */
const BATCH = 500

/** What a listing has of one kind, or of one node of the store. */
export interface Tally {
  listed: number
  /** Whether a key is listed that was loaded before the listing began, and was not written since. */
  survives: boolean
}

/** The result of listing the whole store. */
export interface StoreListing {
  /** The keys of the kinds whose values are read at start; those of shared variables are in a listing of their own. */
  readonly keys: ReadonlyMap<Kind, ReadonlySet<string>>
  /** By the key of each kind, and by the name of each node. */
  readonly tallies: ReadonlyMap<string, Tally>
  isListed (key: string): boolean
}

/**
 * Lists the keys of all kinds in one pass.
 * @param environs the listing that the keys of shared variables are added to
 * @param isUnchanged whether a key was loaded before the listing began, and was not written since
 * @throws StoreError: then the listing is of no use
 */
export async function listStore (
  store: Store,
  keyPrefix: string,
  kinds: readonly Kind[],
  environs: EnvironListing,
  isUnchanged: (key: string) => boolean
): Promise<StoreListing> {
  const keys = new Map(kinds.filter(({ reading }) => reading === 'whole').map(kind => [kind, new Set<string>()]))
  const tallies = new Map<string, Tally>([...kinds.map(({ key }) => key), ...store.nodes?.names() ?? []].map(scope => [scope, { listed: 0, survives: false }]))
  const rows = kinds.map(kind => ({ prefix: kindPrefix(keyPrefix, kind.key), listed: keys.get(kind), tally: tallies.get(kind.key) as Tally }))
  for await (const batch of store.scan(keyPrefix)) {
    // All keys of a batch are on one node, so asking for the node of one key is enough; asking for each would take seconds for a million keys.
    const tally = tallies.get(store.nodes?.of(batch[0] as string) ?? '')
    if (tally !== undefined) {
      tally.listed += batch.length
      tally.survives ||= batch.some(isUnchanged)
    }
    const names: string[] = []
    for (const key of batch) {
      const row = rows.find(({ prefix }) => key.startsWith(prefix))
      if (row === undefined) continue
      row.tally.listed++
      row.tally.survives ||= isUnchanged(key)
      if (row.listed === undefined) names.push(key)
      else row.listed.add(key)
    }
    await environs.add(names)
  }
  await environs.seal()
  return {
    keys,
    tallies,
    isListed (key) {
      const row = rows.find(({ prefix }) => key.startsWith(prefix))
      return row?.listed === undefined ? environs.has(key) : row.listed.has(key)
    }
  }
}

/** Reads the values of keys, in as many round trips as needed. @throws StoreError */
export async function readAll (store: Pick<Store, 'read'>, keys: readonly string[]): Promise<Array<readonly [key: string, value: StoredValue]>> {
  const values: Array<readonly [string, StoredValue]> = []
  for (let start = 0; start < keys.length; start += BATCH) {
    const batch = keys.slice(start, start + BATCH)
    const results = await store.read(batch)
    for (const [index, key] of batch.entries()) values.push([key, results[index] as StoredValue])
  }
  return values
}

/** The keys of both inputs, without repeats. For 100,000 keys this is several times faster than making one set of both. */
export function unionOf (some: ReadonlySet<string>, others: Iterable<string>): string[] {
  const all = [...some]
  for (const key of others) if (!some.has(key)) all.push(key)
  return all
}
