import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import { type Store, StoreError, type StoredValue } from '../../store/store.ts'
import { reject, RejectedEntry, type Diagnostic, unreadable } from '../diagnostic.ts'
import { entryOfVersion, versionKey } from '../kinds/release-kind.ts'
import { isSound, parsePromptEntry, type PromptEntry } from '../kinds/prompt-kind.ts'
import { type TemplateCache } from '../entries/template-cache.ts'
import { readAll } from '../store-reads.ts'
import { nameOfVersion } from './references.ts'

interface RequestedVersion {
  readonly id: string
  readonly n: number
  readonly tag: string | undefined
}

interface VersionCacheOptions {
  readonly store: Pick<Store, 'read'>
  readonly keyPrefix: string
  readonly cache: TemplateCache
}

/** @throws RejectedEntry */
export async function parseVersion (id: string, n: number, stored: StoredValue | undefined, cache: TemplateCache, slices: Slices): Promise<PromptEntry> {
  if (stored === undefined || stored.kind === 'missing') throw reject('VERSION_MISSING', `version ${n} is not in the store`)
  if (stored.kind === 'bad') throw unreadable(stored)
  return { ...await parsePromptEntry(id, 'direct', entryOfVersion(stored.text), cache, slices), version: n }
}

/** A version never changes, so it is read only once. */
export class VersionCache {
  readonly #options: VersionCacheOptions
  readonly #entries = new Map<string, PromptEntry>()
  readonly #numbers = new Map<string, Set<number>>()
  readonly #problems = new Map<string, Diagnostic>()
  #failure: string | undefined

  constructor (options: VersionCacheOptions) {
    this.#options = options
  }

  get failure (): string | undefined {
    return this.#failure
  }

  /** Every missing version is asked for again now. */
  beginRetry (): void {
    this.#failure = undefined
  }

  get (id: string, n: number): PromptEntry | undefined {
    return this.#entries.get(nameOfVersion(id, n))
  }

  versionsOf (id: string): readonly number[] {
    return [...this.#numbers.get(id) ?? []]
  }

  problem (id: string, n: number): Diagnostic | undefined {
    return this.#problems.get(nameOfVersion(id, n))
  }

  drop (id: string, n: number): PromptEntry | undefined {
    const name = nameOfVersion(id, n)
    const entry = this.#entries.get(name)
    this.#entries.delete(name)
    this.#problems.delete(name)
    const numbers = this.#numbers.get(id)
    numbers?.delete(n)
    if (numbers?.size === 0) this.#numbers.delete(id)
    return entry
  }

  /**
   * Reads the wanted versions that the cache lacks. While the store cannot be read they stay missing, and `failure` has the reason.
   * @param same finds a parsed entry with the same content, which saves a read and a parse
   * @returns the entries that were added
   */
  async fill (
    wanted: readonly RequestedVersion[], same: (id: string, tag: string) => PromptEntry | undefined, slices: Slices
  ): Promise<readonly PromptEntry[]> {
    const added: PromptEntry[] = []
    const unread: RequestedVersion[] = []
    for (const version of wanted) {
      const { id, n, tag } = version
      if (this.get(id, n) !== undefined) continue
      const twin = tag === undefined ? undefined : same(id, tag)
      if (twin === undefined) unread.push(version)
      else added.push(this.#put(id, n, { ...twin, origin: 'direct', version: n }))
    }
    for (const [index, stored] of (await this.#read(unread)).entries()) {
      const { id, n } = unread[index] as RequestedVersion
      try {
        const entry = await parseVersion(id, n, stored, this.#options.cache, slices)
        if (!isSound(entry)) throw new RejectedEntry(entry.diagnostics)
        added.push(this.#put(id, n, entry))
      } catch (error) {
        if (!(error instanceof RejectedEntry)) throw error
        this.#problems.set(nameOfVersion(id, n), error.diagnostics[0] as Diagnostic)
      }
      if (slices.isDue()) await slices.pause()
    }
    return added
  }

  /** The newest that can be compiled; `numbers` newest first. @throws StoreError */
  async newest (id: string, numbers: Iterable<number>): Promise<PromptEntry & { readonly version: number } | undefined> {
    const { store, keyPrefix, cache } = this.#options
    const slices = createSlices()
    for (const n of numbers) {
      const [stored] = await store.read([versionKey(keyPrefix, id, n)])
      try {
        const entry = await parseVersion(id, n, stored, cache, slices)
        if (isSound(entry)) return { ...entry, version: n }
      } catch (error) {
        if (!(error instanceof RejectedEntry)) throw error
      }
    }
    return undefined
  }

  #put (id: string, n: number, entry: PromptEntry): PromptEntry {
    this.#entries.set(nameOfVersion(id, n), entry)
    this.#problems.delete(nameOfVersion(id, n))
    const numbers = this.#numbers.get(id) ?? new Set()
    this.#numbers.set(id, numbers.add(n))
    return entry
  }

  async #read (versions: readonly RequestedVersion[]): Promise<readonly StoredValue[]> {
    if (versions.length === 0) return []
    const { store, keyPrefix } = this.#options
    try {
      return (await readAll(store, versions.map(({ id, n }) => versionKey(keyPrefix, id, n)))).map(([, value]) => value)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#failure = error.message
      return []
    }
  }
}
