import pLimit from 'p-limit'
import type { Log } from '../runtime/telemetry.ts'
import { oneAtATime } from '../runtime/concurrency.ts'
import { createSlices } from '../runtime/event-loop.ts'
import { isWithheld, keyToPath, kindPrefix, pathToKey, type Store, type StoredValue, StoreError } from '../store/store.ts'
import type { Language } from '../template/language.ts'
import type { ToolReader } from '../tool/tool-reader.ts'
import type { EntryProblem } from './entries/entry-table.ts'
import { type CountedTemplateCache, createTemplateCache } from './entries/template-cache.ts'
import { Entries } from './entries/entries.ts'
import type { Generation } from './generation.ts'
import { offeredOf } from './offered.ts'
import type { Environs } from './kinds/environ-kind.ts'
import { type Entry, type EntryKind, isEntryKind, type Kind } from './kinds/entry-kind.ts'
import { promptKind } from './kinds/prompt-kind.ts'
import { releaseKind, VERSIONS } from './kinds/release-kind.ts'
import { GenerationBuilder, type RegisterTools } from './link/build-generation.ts'
import { VersionedNames } from './link/versions.ts'
import { Announcements, ReadsInFlight } from './changed-keys.ts'
import { listStore, readAll, Seeker, unionOf } from './store-reads.ts'
import { StaleGuard } from './stale-guard.ts'

/** For the service's readiness; each change is logged once. */
class StoreHealth {
  readonly #log: Log
  readonly #onProblem: ((reason: string | undefined) => void) | undefined
  #verifiedAt: Date | undefined
  #problem: string | undefined
  #labelsProblem: string | undefined

  constructor (log: Log, onProblem: ((reason: string | undefined) => void) | undefined) {
    this.#log = log
    this.#onProblem = onProblem
  }

  /** `undefined` before the first time. */
  get verifiedAt (): Date | undefined {
    return this.#verifiedAt
  }

  /** `undefined` when none has failed since all entries were last compared with the store. */
  get problem (): string | undefined {
    return this.#problem
  }

  get labelsProblem (): string | undefined {
    return this.#labelsProblem
  }

  verified (): void {
    if (this.#problem !== undefined) {
      this.#log.info({}, 'the store answers again')
      this.#onProblem?.(undefined)
    }
    this.#problem = undefined
    this.#verifiedAt = new Date()
  }

  failed (reason: string): void {
    if (this.#problem !== reason) this.#log.warn({ reason }, 'the store cannot be read; what was loaded stays in force')
    if (this.#problem === undefined) this.#onProblem?.(reason)
    this.#problem = reason
  }

  /** An old ACL of Redis can forbid release records; then labels are not served, and everything else is. */
  judgeLabels (probes: ReadonlyArray<readonly [prefix: string, value: StoredValue]>): void {
    const withheld = probes.filter(([, value]) => isWithheld(value)).map(([prefix]) => prefix)
    const problem = withheld.length === 0 ? undefined : `labels are not served: the store lets this process read nothing below ${withheld.join(' and ')}`
    if (problem !== undefined && problem !== this.#labelsProblem) this.#log.warn({ prefixes: withheld }, problem)
    this.#labelsProblem = problem
  }
}

class CurrentGeneration {
  readonly #kinds: readonly Kind[]
  readonly #log: Log
  readonly #listeners = new Set<(generation: Generation) => void>()
  #generation: Generation

  constructor (kinds: readonly Kind[], log: Log, first: Generation) {
    this.#kinds = kinds
    this.#log = log
    this.#generation = first
  }

  get generation (): Generation {
    return this.#generation
  }

  /** Returns a function that ends this. */
  onPublished (listener: (generation: Generation) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  publish (generation: Generation, environs: number): void {
    this.#generation = generation
    const { number, revision } = generation
    const counts = this.#kinds.map(kind => [kind.name, isEntryKind(kind) ? offeredOf(generation, kind).size : environs] as const)
    this.#log.info({ generation: number, revision, ...Object.fromEntries(counts) }, 'registry published')
    for (const listener of this.#listeners) listener(generation)
  }
}

/** In ms, while the store pushes its changes. */
const RECONCILE_MILLISECONDS = 60_000

/** In ms: after an outage everything is fresh within 2 s. */
const RETRY_MILLISECONDS = 500

/** Reads entries from the store, keeps the last good version of each, and publishes them as generations. */
export class Registry {
  readonly environs: Environs
  readonly templates: CountedTemplateCache
  readonly #options: RegistryOptions
  readonly #environPrefix: string
  readonly #entries: Entries
  readonly #guard: StaleGuard
  readonly #health: StoreHealth
  readonly #publication: CurrentGeneration
  readonly #builder: GenerationBuilder
  readonly #versions: VersionedNames
  readonly #versionPrefix: string
  readonly #reads = new ReadsInFlight()
  readonly #announced = new Announcements()
  readonly #refreshing = oneAtATime(() => this.#refreshOnce())
  readonly #following = oneAtATime(() => this.#followOnce())
  readonly #readers = new Set<(environKeys: readonly string[]) => void>()
  readonly #seeker: Seeker
  readonly #hopeless = new WeakSet<object>()
  /** Changes of tables and generation run one at a time; reads of the store go on beside them. */
  readonly #exclusively = pLimit(1)
  /** On the clock of `performance.now()`, in ms. */
  #refreshedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #endWatch: (() => Promise<void>) | undefined

  constructor (options: RegistryOptions) {
    const cache = createTemplateCache(options.languages)
    this.#options = options
    this.#environPrefix = options.environs.prefix
    this.templates = cache
    this.environs = options.environs
    this.#entries = new Entries({ ...options, kinds: options.kinds.filter(isEntryKind), cache })
    this.#versions = new VersionedNames(this.#entries.tables.of(releaseKind), options.store, options.keyPrefix, cache)
    this.#versionPrefix = kindPrefix(options.keyPrefix, VERSIONS)
    this.#builder = new GenerationBuilder(this.#entries.tables, options.registerTools, this.#versions, options.toolProblems)
    this.#publication = new CurrentGeneration(options.kinds, options.log, this.#builder.last)
    this.#health = new StoreHealth(options.log, options.onStore)
    this.#seeker = new Seeker(options.store, async key => { await this.follow([key]) })
    this.#guard = new StaleGuard({
      ...options,
      nodes: options.store.nodes,
      keysOf: kind => isEntryKind(kind) ? this.#entries.tables.of(kind).keys() : this.environs.keys(),
      isAnnounced: key => this.#announced.has(key)
    })
  }

  get kinds (): readonly Kind[] {
    return this.#options.kinds
  }

  /** A request takes it once and uses it until it ends. */
  get generation (): Generation {
    return this.#publication.generation
  }

  /** Returns a function that ends this. */
  onPublished (listener: (generation: Generation) => void): () => void {
    return this.#publication.onPublished(listener)
  }

  /** Also after reads that make no new generation. Gets the changed keys of shared variables, none after a whole read; returns its end. */
  onRead (listener: (environKeys: readonly string[]) => void): () => void {
    this.#readers.add(listener)
    return () => { this.#readers.delete(listener) }
  }

  /** An absent store is no error: the registry waits for it. */
  async start (): Promise<void> {
    this.#endWatch = await this.#options.store.watch((keys, since) => { void this.#changed(keys, since) })
    await this.refresh()
    this.#timer = setInterval(() => { if (this.#isRefreshDue()) void this.refresh() }, Math.min(this.#options.pollInterval, RETRY_MILLISECONDS))
    this.#timer.unref()
  }

  async stop (): Promise<void> {
    clearInterval(this.#timer)
    await this.#endWatch?.()
    await this.#following.idle()
    // The refresh is awaited last: it begins when changed keys could not be read.
    await this.#refreshing.idle()
  }

  /** Never throws: in an outage the present entries stay served. Calls during a refresh share one further one. */
  refresh (): Promise<void> {
    return this.#refreshing.run()
  }

  /** Resolves when requests are answered from the new values, or when these cannot be read. */
  async follow (keys: readonly string[]): Promise<void> {
    const read = this.#reads.begin()
    await this.#changed(new Set(keys), performance.now())
    // The store's report of the same write makes this read outdated: the next one has the value.
    await this.#following.idle()
    read.end()
    // After an interruption this read is void, and the whole store is read again.
    if (read.isInterrupted) await this.#refreshing.idle()
  }

  /** Asks the store once. Resolves when the entry is served or absent, with whether it was found. */
  seek ({ key }: EntryKind, id: string): Promise<boolean> {
    return this.#seeker.seek(pathToKey(id, kindPrefix(this.#options.keyPrefix, key)))
  }

  /** `missing`: lost by the store, and held. `broken`: an earlier version is served. */
  async unstored (kind: Kind, ids: readonly string[]): Promise<ReadonlyMap<string, 'missing' | 'broken'>> {
    const { store, keyPrefix } = this.#options
    const keys = ids.map(id => pathToKey(id, kindPrefix(keyPrefix, kind.key)))
    const exist = this.#guard.isHolding ? await store.has(keys).catch(nothingInOutage) : []
    const states = new Map<string, 'missing' | 'broken'>()
    for (const [index, id] of ids.entries()) {
      if (exist[index] === false) states.set(id, 'missing')
      else if (isEntryKind(kind) && this.#entries.tables.of(kind).problem(keys[index] as string)?.servesLastGood === true) states.set(id, 'broken')
    }
    return states
  }

  /** What is stored with mistakes, while an earlier version of it is served. */
  broken<E extends Entry> (kind: EntryKind<E>, id: string): E | undefined {
    return this.#entries.tables.of(kind).broken(pathToKey(id, kindPrefix(this.#options.keyPrefix, kind.key)))
  }

  stale (kind: EntryKind): number {
    return this.#entries.tables.of(kind).stale()
  }

  /** Whether a prompt names the version by its number (`review.system@7`). */
  isPinned (id: string, n: number): boolean {
    return this.#versions.isPinned(id, n)
  }

  relink (): void {
    void this.#exclusively(() => this.#publish(true))
  }

  /** A store without keys counts as empty at once. Resolves when all that was stored before is served, or cannot be read. */
  async reload (): Promise<void> {
    this.#guard.release()
    this.environs.expireAll()
    await this.refresh()
    // A report of an earlier write makes this read outdated: the next one has the value.
    await this.#following.idle()
    // An empty listing counts as a loss again, even after a failed read: entries stay when the store comes back empty.
    this.#guard.settle()
  }

  status () {
    const { verifiedAt, problem, labelsProblem } = this.#health
    return {
      loaded: verifiedAt !== undefined,
      store: { variant: this.#options.store.variant, ...this.#options.store.status() },
      verifiedAt,
      problem,
      held: this.#guard.kinds().map(({ key }) => key),
      labelsProblem,
      heldNodes: this.#guard.nodes()
    }
  }

  problems (): EntryProblem[] {
    return allProblems([...this.#entries.problems(), ...this.environs.problems()], this.generation.conflicts)
  }

  /** Soon after a failure or very many changes of names, otherwise once a minute, or at each poll without pushes. */
  #isRefreshDue (): boolean {
    if (this.#refreshing.isRunning()) return false
    if (this.#health.problem !== undefined || this.environs.index.needsCompaction) return true
    // A store that lost a kind reports neither its return nor the end of the hold, so it is polled meanwhile.
    const isPushed = this.#options.store.status().changes === 'pushed' && !this.#guard.isHolding
    return performance.now() - this.#refreshedAt >= (isPushed ? RECONCILE_MILLISECONDS : this.#options.pollInterval)
  }

  #isLoaded (key: string): boolean {
    const kind = this.#entries.kindOf(key)
    if (kind !== undefined) return this.#entries.tables.of(kind).has(key)
    return key.startsWith(this.#environPrefix) && this.environs.has(keyToPath(key, this.#environPrefix))
  }

  /** `undefined` after an outage, in which any key can have changed. */
  #changed (keys: ReadonlySet<string> | undefined, since: number): Promise<void> {
    if (keys !== undefined) {
      this.#reads.changed(keys)
      this.environs.expireKeys([...keys].filter(key => key.startsWith(this.#environPrefix)))
      const tooMany = this.#announced.add(keys, since)
      // Before the first refresh no entry is served, so the whole store is read.
      if (!tooMany) return this.#health.verifiedAt === undefined ? this.refresh() : this.#following.run()
    }
    // They would count as deleted on purpose, even where the store lost them in the outage.
    this.#announced.clear()
    this.#reads.interrupt()
    this.environs.expireAll()
    return this.refresh()
  }

  async #followOnce (): Promise<void> {
    const { keys, since } = this.#announced.take()
    if (keys.length === 0) return
    const { store, onServed } = this.#options
    const environKeys = keys.filter(key => key.startsWith(this.#environPrefix))
    const entryKeys = keys.filter(key => this.#entries.kindOf(key) !== undefined)
    const read = this.#reads.begin()
    // Its values are perhaps from before the interruption, after which the whole store is read.
    const isDoubtful = (key: string): boolean => read.hasChanged(key) || read.isInterrupted
    try {
      const [values, exist] = await Promise.all([readAll(store, entryKeys), store.has(environKeys)])
      await this.#exclusively(async () => {
        this.environs.applyKeys(environKeys.map((key, index) => [key, exist[index] === true] as const).filter(([key]) => !isDoubtful(key)))
        await this.#entries.take(values, isDoubtful)
        await this.#replaceBroken()
        await this.#publish(keys.some(key => key.startsWith(this.#versionPrefix)) && await this.#versions.fillGaps())
        this.#guard.endEmpty()
      })
      for (const reader of this.#readers) reader(environKeys)
      onServed?.(performance.now() - since)
      await this.environs.readAhead(environKeys)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#health.failed(error.message)
      // A refresh reads these keys with all others, and recognises an outage by its listing.
      void this.refresh()
    } finally {
      read.end()
    }
  }

  /** No entry is replaced or dropped before all keys were read. */
  async #refreshOnce (): Promise<void> {
    const { store, keyPrefix, kinds } = this.#options
    const read = this.#reads.begin()
    const environs = this.environs.beginListing()
    const recent = this.#announced.beginWholeRead()
    let counts = false
    try {
      // A key written a moment ago proves nothing: the write can have come after a flush.
      const isOld = (key: string): boolean => this.#isLoaded(key) && !recent.has(key) && !read.hasChanged(key)
      const listed = await listStore(store, keyPrefix, kinds, environs, isOld)
      const isHeld = await this.#guard.judge(listed)
      if (isHeld !== undefined) await environs.keep(isHeld)
      // Also when unlisted: a key that moves between nodes of a cluster can be listed by neither.
      const { tables } = this.#entries
      const wanted = [...tables.kinds].map(kind => {
        const known = tables.of(kind).keys()
        return unionOf(listed.keys.get(kind) ?? new Set(), isHeld === undefined ? known : [...known].filter(key => !isHeld(key)))
      })
      const probes = [kindPrefix(keyPrefix, releaseKind.key), this.#versionPrefix]
      const stored = await readAll(store, [...probes, ...wanted.flat()])
      this.#health.judgeLabels(stored.slice(0, probes.length))
      const values = stored.slice(probes.length)
      // Listed and missing now: a deletion is reported by itself, and the next listing lacks a lost key, so the entry stays for now.
      const mayBeLost = (key: string): boolean => read.isInterrupted || listed.isListed(key)
      await environs.finish()
      await this.#exclusively(async () => {
        if (!read.isInterrupted || this.#health.verifiedAt === undefined) environs.replace()
        await this.#entries.take(values, (key, { kind }) => read.hasChanged(key) || (kind === 'missing' && mayBeLost(key)))
        await this.#replaceBroken()
        const isFirst = this.generation.number === 0
        await this.#publish(await this.#versions.fillGaps() || isFirst)
        if (isFirst) await this.#sumUp()
      })
      counts = !read.isInterrupted
      if (this.#versions.failure === undefined) this.#health.verified()
      for (const reader of this.#readers) reader([])
      await this.environs.readAhead()
      if (store.status().changes === 'pushed') void this.environs.verifyValues()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#health.failed(error.message)
    } finally {
      if (!counts) this.#announced.abandonWholeRead(recent)
      environs.abandon()
      read.end()
      this.#refreshedAt = performance.now()
    }
    if (this.#announced.size > 0 && this.#health.problem === undefined) void this.#following.run()
  }

  /** From its newest recorded version that can be compiled. @throws StoreError */
  async #replaceBroken (): Promise<void> {
    const { keyPrefix, log } = this.#options
    const [prompts, releases] = [this.#entries.tables.of(promptKind), this.#entries.tables.of(releaseKind)]
    for (const key of prompts.unusable()) {
      const id = keyToPath(key, kindPrefix(keyPrefix, promptKind.key))
      const release = releases.entry(pathToKey(id, kindPrefix(keyPrefix, releaseKind.key)))
      if (release === undefined || this.#hopeless.has(release)) continue
      const found = await this.#versions.newest(id, release.record.versions.map(({ n }) => n))
      if (found === undefined) {
        this.#hopeless.add(release)
        continue
      }
      // It stands for the prompt itself, which has no number.
      const { version, ...entry } = found
      prompts.serve(key, entry)
      log.warn({ key, version }, 'a recorded version is served in place of what is stored')
    }
  }

  async #sumUp (): Promise<void> {
    const slices = createSlices()
    const { generation: { prompts } } = this
    const rejected = this.#entries.tables.of(promptKind).unusable().filter(key => this.#entries.tables.of(promptKind).entry(key) === undefined).length
    let unusable = rejected
    for (const { state } of prompts.values()) {
      if (state !== 'valid') unusable++
      if (slices.isDue()) await slices.pause()
    }
    const count = prompts.size + rejected
    if (unusable > 0) this.#options.log.warn({ prompts: count, unusable }, `${count} prompts, ${unusable} unusable: GET /api/status/entries`)
  }

  /** `hasNews`: something else than entries is new, an MCP server's tools or a version. */
  async #publish (hasNews: boolean): Promise<void> {
    if (!hasNews && !this.#entries.hasChanged) return
    const generation = await this.#builder.build(hasNews)
    if (this.#versions.failure !== undefined) this.#health.failed(this.#versions.failure)
    this.#publication.publish(generation, this.environs.index.size)
  }
}

function nothingInOutage (error: unknown): readonly [] {
  if (!(error instanceof StoreError)) throw error
  return []
}

/** One for each key: two problems of a key become one, the conflict's diagnostics last. */
function allProblems (own: readonly EntryProblem[], conflicts: readonly EntryProblem[]): EntryProblem[] {
  const lost = new Map(conflicts.map(conflict => [conflict.key, conflict]))
  const merged = own.map(problem => {
    const conflict = lost.get(problem.key)
    if (conflict === undefined) return problem
    lost.delete(problem.key)
    return { ...conflict, diagnostics: [...problem.diagnostics, ...conflict.diagnostics] }
  })
  return [...merged, ...lost.values()]
}

export interface RegistryOptions {
  /** The table must have the kinds of extensions, prompts and tools. */
  readonly kinds: readonly Kind[]
  readonly store: Store
  readonly keyPrefix: string
  readonly languages: readonly Language[]
  /** In ms, while the store does not push changes. */
  readonly pollInterval: number
  /** In ms: how long entries stay when the store suddenly lists none of a kind. */
  readonly emptyHold: number
  readonly log: Log
  readonly environs: Environs
  readonly toolReader: ToolReader
  readonly registerTools: RegisterTools
  readonly toolProblems?: (id: string) => readonly string[]
  /** Called when the store cannot be read any more, with the reason, and when it can. */
  readonly onStore?: ((reason: string | undefined) => void) | undefined
  /** In ms, from the arrival of a batch's first message until requests are answered from it; without the way from the writer. */
  readonly onServed?: (milliseconds: number) => void
}
