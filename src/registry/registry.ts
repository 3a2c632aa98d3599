import pLimit from 'p-limit'
import type { Log } from '../runtime/telemetry.ts'
import { oneAtATime } from '../runtime/concurrency.ts'
import { isWithheld, keyToPath, kindPrefix, pathToKey, type Store, type StoredValue, StoreError, type StoreStatus } from '../store/store.ts'
import type { Language } from '../template/language.ts'
import type { ToolReader } from '../tool/tool-reader.ts'
import type { EntryProblem } from './entries/entry-table.ts'
import { type CountedTemplateCache, createTemplateCache } from './entries/template-cache.ts'
import { Entries } from './entries/entries.ts'
import type { Generation } from './generation.ts'
import { offeredOf } from './offered.ts'
import type { Environs } from './kinds/environ-kind.ts'
import { type EntryKind, isEntryKind, type Kind } from './kinds/entry-kind.ts'
import { promptKind } from './kinds/prompt-kind.ts'
import { releaseKind, VERSIONS } from './kinds/release-kind.ts'
import { GenerationBuilder, type RegisterTools } from './link/build-generation.ts'
import { VersionCache } from './link/version-shelf.ts'
import { Announcements, ReadsInFlight } from './changed-keys.ts'
import { listStore, readAll, Seeker, unionOf } from './store-reads.ts'
import { StaleGuard } from './stale-guard.ts'

/** Whether the store can be read, for the service's readiness. Each change of that is logged once. */
class StoreHealth {
  readonly #log: Log
  #verifiedAt: Date | undefined
  #problem: string | undefined
  #labelsProblem: string | undefined

  constructor (log: Log) {
    this.#log = log
  }

  /** The time when all entries were last compared with the store; `undefined` before the first time. */
  get verifiedAt (): Date | undefined {
    return this.#verifiedAt
  }

  /** The reason why a read of the store has failed; `undefined` when none has failed since all entries were last compared with the store. */
  get problem (): string | undefined {
    return this.#problem
  }

  /** Why no labels of prompts (`production`) are served: the store does not let this process read what labels stand for. `undefined` when it does. */
  get labelsProblem (): string | undefined {
    return this.#labelsProblem
  }

  /** Notes that all entries have just been compared with the store. */
  verified (): void {
    if (this.#problem !== undefined) this.#log.info({}, 'the store answers again')
    this.#problem = undefined
    this.#verifiedAt = new Date()
  }

  /** Notes that a read of the store has failed. @param reason why, in words */
  failed (reason: string): void {
    if (this.#problem !== reason) this.#log.warn({ reason }, 'the store cannot be read; what was loaded stays in force')
    this.#problem = reason
  }

  /**
   * Notes whether the store lets this process read which versions of prompts the labels (`production`) stand for. An operator's old ACL of Redis can
   * forbid that. Then labels are not served, and everything else is.
   * @param probes what the store answers when the bare key prefixes of release records and of versions are read
   */
  judgeLabels (probes: ReadonlyArray<readonly [prefix: string, value: StoredValue]>): void {
    const withheld = probes.filter(([, value]) => isWithheld(value)).map(([prefix]) => prefix)
    const problem = withheld.length === 0 ? undefined : `labels are not served: the store lets this process read nothing below ${withheld.join(' and ')}`
    if (problem !== undefined && problem !== this.#labelsProblem) this.#log.warn({ prefixes: withheld }, problem)
    this.#labelsProblem = problem
  }
}

/** The present generation (an immutable snapshot of all entries), and the listeners that are told when the next one replaces it. */
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

  /** Calls `listener` after each generation that is published. @returns a function after whose call the listener is not called any more */
  onPublished (listener: (generation: Generation) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /** Makes a generation the present one, and tells the listeners. @param environs the number of shared variables, for the log */
  publish (generation: Generation, environs: number): void {
    this.#generation = generation
    const { number, revision } = generation
    const counts = this.#kinds.map(kind => [kind.name, isEntryKind(kind) ? offeredOf(generation, kind).size : environs] as const)
    this.#log.info({ generation: number, revision, ...Object.fromEntries(counts) }, 'registry published')
    for (const listener of this.#listeners) listener(generation)
  }
}

/** The interval between two readings of the whole store, in ms, while the store pushes its changes. */
const RECONCILE_MILLISECONDS = 60_000

/** The pause before the store is asked again after a failure, in ms: after an outage everything is fresh within 2 s. */
const RETRY_MILLISECONDS = 500

/** The entries that are served: this class reads them from the store, keeps the last good version of each, and publishes them as generations. */
export class Registry {
  readonly environs: Environs
  /** The cache of compiled templates. */
  readonly templates: CountedTemplateCache
  readonly #options: RegistryOptions
  readonly #environPrefix: string
  readonly #entries: Entries
  readonly #guard: StaleGuard
  readonly #health: StoreHealth
  readonly #publication: CurrentGeneration
  readonly #builder: GenerationBuilder
  readonly #shelf: VersionCache
  readonly #versionPrefix: string
  readonly #reads = new ReadsInFlight()
  readonly #announced = new Announcements()
  readonly #refreshing = oneAtATime(() => this.#refreshOnce())
  readonly #following = oneAtATime(() => this.#followOnce())
  readonly #readers = new Set<(environKeys: readonly string[]) => void>()
  readonly #seeker: Seeker
  /** The release records whose prompt is broken, and of which no version can be compiled either. */
  readonly #hopeless = new WeakSet<object>()
  /** A queue that runs changes of the tables and of the generation one at a time; reads of the store go on beside them. */
  readonly #exclusively = pLimit(1)
  /** When the last refresh ended, in ms, on the clock of `performance.now()`. */
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
    this.#shelf = new VersionCache({ store: options.store, keyPrefix: options.keyPrefix, cache })
    this.#versionPrefix = kindPrefix(options.keyPrefix, VERSIONS)
    this.#builder = new GenerationBuilder(this.#entries.tables, options.registerTools, this.#shelf, options.toolProblems)
    this.#publication = new CurrentGeneration(options.kinds, options.log, this.#builder.last)
    this.#health = new StoreHealth(options.log)
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

  /** The present generation. A request takes it once and uses it until the request ends. */
  get generation (): Generation {
    return this.#publication.generation
  }

  /** Calls `listener` after each generation that is published. @returns a function after whose call the listener is not called any more */
  onPublished (listener: (generation: Generation) => void): () => void {
    return this.#publication.onPublished(listener)
  }

  /**
   * Calls `listener` after each read of the store, also after a read that makes no new generation, such as a read of shared variables
   * or of entries that cannot be used.
   * @param listener gets the keys of shared variables that the store has reported as changed; none after a read of the whole store
   * @returns a function after whose call the listener is not called any more
   */
  onRead (listener: (environKeys: readonly string[]) => void): () => void {
    this.#readers.add(listener)
    return () => { this.#readers.delete(listener) }
  }

  /** Reads everything once, then follows the store. A store that is absent is no error: the registry waits for it. */
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
    // The refresh is awaited last, because it begins when keys that have changed could not be read.
    await this.#refreshing.idle()
  }

  /**
   * Compares everything with the store and publishes what has changed. It never throws: during an outage the present entries stay served. Calls that
   * come while a refresh runs share a single further one.
   */
  refresh (): Promise<void> {
    return this.#refreshing.run()
  }

  /** Reads the keys that this process has just written or removed. Resolves when requests are answered from the new values, or when these cannot be read. */
  async follow (keys: readonly string[]): Promise<void> {
    const read = this.#reads.begin()
    await this.#changed(new Set(keys), performance.now())
    // When the store reports the same write during this read, the read counts as outdated: the next read has the value.
    await this.#following.idle()
    read.end()
    // When the connection to the store was interrupted, this read is void, and the whole store is read again.
    if (read.isInterrupted) await this.#refreshing.idle()
  }

  /**
   * Looks for an entry that is not loaded, by asking the store once. Resolves when the entry is served, or when the store does not have it.
   * @param id with dots between its parts
   * @returns whether it was found
   */
  seek ({ key }: EntryKind, id: string): Promise<boolean> {
    return this.#seeker.seek(pathToKey(id, kindPrefix(this.#options.keyPrefix, key)))
  }

  /**
   * Which served entries are not served as they are stored. `missing`: the store has lost them, and they are held; `broken`: what is stored cannot be used,
   * and an earlier version is served.
   * @param ids of entries with keys of their own, with dots between their parts
   */
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

  /** How many entries of a kind have a broken value in whose place an earlier version is served. */
  stale (kind: EntryKind): number {
    return this.#entries.tables.of(kind).stale()
  }

  /** The versions of a prompt that other prompts name with their number (`review.system@7`). */
  pinsOf (id: string): readonly number[] {
    return this.#builder.pinsOf(id)
  }

  /** Publishes a new generation of the same entries, because an MCP server offers other tools than before. */
  relink (): void {
    void this.#exclusively(() => this.#publish(true))
  }

  /**
   * Reads the whole store now. A store that lists no keys counts as empty at once; after other reads of such a store the loaded entries stay served for
   * a while. Resolves when requests are answered from all that was stored before the call, or when the store cannot be read.
   */
  async reload (): Promise<void> {
    this.#guard.release()
    this.environs.expireAll()
    await this.refresh()
    // When the store reports an earlier write during this read, the read counts as outdated: the next read has the value.
    await this.#following.idle()
    // From now on an empty listing counts as a loss again, even when the store could not be read: when the store comes back empty, the entries stay served.
    this.#guard.settle()
  }

  status (): RegistryStatus {
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

  /** The keys that are not served as they are stored, each with the reason: its value is wrong, or another key has taken its place. */
  problems (): EntryProblem[] {
    return allProblems([...this.#entries.problems(), ...this.environs.problems()], this.generation.conflicts)
  }

  /**
   * Whether the whole store has to be read again: soon after a failure, or after very many changes of names of shared variables; otherwise once a minute,
   * or at each poll of a store that pushes no changes.
   */
  #isRefreshDue (): boolean {
    if (this.#refreshing.isRunning()) return false
    if (this.#health.problem !== undefined || this.environs.index.needsCompaction) return true
    // When the store suddenly lists no entry of a kind, the loaded ones stay served until keys come back or a time has passed. The store reports neither of
    // the two, so it is polled meanwhile.
    const isPushed = this.#options.store.status().changes === 'pushed' && !this.#guard.isHolding
    return performance.now() - this.#refreshedAt >= (isPushed ? RECONCILE_MILLISECONDS : this.#options.pollInterval)
  }

  #isLoaded (key: string): boolean {
    const kind = this.#entries.kindOf(key)
    if (kind !== undefined) return this.#entries.tables.of(kind).has(key)
    return key.startsWith(this.#environPrefix) && this.environs.has(keyToPath(key, this.#environPrefix))
  }

  /** Starts the read of keys that the store has reported as changed. @param keys `undefined` after an outage, in which any key can have changed */
  #changed (keys: ReadonlySet<string> | undefined, since: number): Promise<void> {
    if (keys !== undefined) {
      this.#reads.changed(keys)
      this.environs.expireKeys([...keys].filter(key => key.startsWith(this.#environPrefix)))
      const tooMany = this.#announced.add(keys, since)
      // Before the first refresh no entry is served, so the whole store is read and not only these keys.
      if (!tooMany) return this.#health.verifiedAt === undefined ? this.refresh() : this.#following.run()
    }
    // A key that was reported before the outage would count as deleted on purpose, even where the store lost it in the outage.
    this.#announced.clear()
    this.#reads.interrupt()
    this.environs.expireAll()
    return this.refresh()
  }

  /** Reads the keys that the store has reported as changed, and nothing else. */
  async #followOnce (): Promise<void> {
    const { keys, since } = this.#announced.take()
    if (keys.length === 0) return
    const { store, onServed } = this.#options
    const environKeys = keys.filter(key => key.startsWith(this.#environPrefix))
    const entryKeys = keys.filter(key => this.#entries.kindOf(key) !== undefined)
    const read = this.#reads.begin()
    // After an interruption of the connection the whole store is read again: the values of this read are perhaps from before the interruption.
    const isDoubtful = (key: string): boolean => read.hasChanged(key) || read.isInterrupted
    try {
      const [values, exist] = await Promise.all([readAll(store, entryKeys), store.has(environKeys)])
      await this.#exclusively(async () => {
        this.environs.applyKeys(environKeys.map((key, index) => [key, exist[index] === true] as const).filter(([key]) => !isDoubtful(key)))
        await this.#entries.take({ values, isDoubtful })
        await this.#replaceBroken()
        await this.#publish(keys.some(key => key.startsWith(this.#versionPrefix)) && await this.#builder.fillGaps())
        this.#guard.endEmpty()
      })
      for (const reader of this.#readers) reader(environKeys)
      onServed?.(performance.now() - since)
      await this.environs.readAhead(environKeys)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#health.failed(error.message)
      // A refresh reads these keys with all others, and its listing of the store recognises an outage.
      void this.refresh()
    } finally {
      read.end()
    }
  }

  /** Reads the whole store. No entry is replaced or dropped before all keys were read. */
  async #refreshOnce (): Promise<void> {
    const { store, keyPrefix, kinds } = this.#options
    const read = this.#reads.begin()
    const environs = this.environs.beginListing()
    const recent = this.#announced.beginWholeRead()
    let counts = false
    try {
      // A key that was written a moment ago is no sign that the store has kept the others: the write can have come after a flush.
      const isOld = (key: string): boolean => this.#isLoaded(key) && !recent.has(key) && !read.hasChanged(key)
      const listed = await listStore(store, keyPrefix, kinds, environs, isOld)
      const isHeld = await this.#guard.judge(listed)
      if (isHeld !== undefined) await environs.keep(isHeld)
      // Known keys are read even if the listing lacks them: while a cluster moves a key from one node to another, it can happen that neither lists the key.
      const { tables } = this.#entries
      const wanted = [...tables.kinds].map(kind => {
        const known = tables.of(kind).keys()
        return unionOf(listed.keys.get(kind) ?? new Set(), isHeld === undefined ? known : [...known].filter(key => !isHeld(key)))
      })
      const probes = [kindPrefix(keyPrefix, releaseKind.key), this.#versionPrefix]
      const stored = await readAll(store, [...probes, ...wanted.flat()])
      this.#health.judgeLabels(stored.slice(0, probes.length))
      const values = stored.slice(probes.length)
      // A key that was listed and is missing now was deleted or lost. The store reports the deletion by itself, and the next listing lacks a lost key. So
      // the entry stays for now. After an interruption the entries of all missing keys stay.
      const mayBeLost = (key: string): boolean => read.isInterrupted || listed.isListed(key)
      await environs.finish()
      await this.#exclusively(async () => {
        if (!read.isInterrupted || this.#health.verifiedAt === undefined) environs.replace()
        await this.#entries.take({
          values,
          isDoubtful: (key, { kind }) => read.hasChanged(key) || (kind === 'missing' && mayBeLost(key))
        })
        await this.#replaceBroken()
        const isFirst = this.generation.number === 0
        await this.#publish(await this.#builder.fillGaps() || isFirst)
        if (isFirst) this.#sumUp()
      })
      counts = !read.isInterrupted
      if (this.#shelf.failure === undefined) this.#health.verified()
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

  /**
   * Serves each prompt whose stored text is broken, and of which this process has read no other, from its newest recorded version that can be compiled.
   * @throws StoreError
   */
  async #replaceBroken (): Promise<void> {
    const { keyPrefix, log } = this.#options
    const [prompts, releases] = [this.#entries.tables.of(promptKind), this.#entries.tables.of(releaseKind)]
    for (const key of prompts.unusable()) {
      const id = keyToPath(key, kindPrefix(keyPrefix, promptKind.key))
      const release = releases.entry(pathToKey(id, kindPrefix(keyPrefix, releaseKind.key)))
      if (release === undefined || this.#hopeless.has(release)) continue
      const found = await this.#shelf.newest(id, release.record.versions.map(({ n }) => n))
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

  #sumUp (): void {
    const { generation: { prompts } } = this
    const rejected = this.#entries.tables.of(promptKind).unusable().filter(key => this.#entries.tables.of(promptKind).entry(key) === undefined).length
    const count = prompts.size + rejected
    const unusable = [...prompts.values()].filter(({ state }) => state !== 'valid').length + rejected
    if (unusable > 0) this.#options.log.warn({ prompts: count, unusable }, `${count} prompts, ${unusable} unusable: GET /api/status/entries`)
  }

  /** Publishes the next generation, if it has anything new. @param hasNews whether something else than entries is new: an MCP server's tools, or a version */
  async #publish (hasNews: boolean): Promise<void> {
    if (!hasNews && !this.#entries.hasChanged) return
    const generation = await this.#builder.build(hasNews)
    if (this.#shelf.failure !== undefined) this.#health.failed(this.#shelf.failure)
    this.#publication.publish(generation, this.environs.index.size)
  }
}

function nothingInOutage (error: unknown): readonly [] {
  if (!(error instanceof StoreError)) throw error
  return []
}

/**
 * The problems of all keys that are not served as they are stored, one problem for each key.
 * @param own the problems of the keys' own values
 * @param conflicts the problems of keys whose id or function name belongs to another key. When a key is in both lists, its two problems become one,
 * with the diagnostics of the conflict at the end.
 */
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

/** The parts and settings from which the registry is made. */
export interface RegistryOptions {
  /** The table of kinds. It must have those of extensions, prompts and tools. */
  readonly kinds: readonly Kind[]
  readonly store: Store
  readonly keyPrefix: string
  readonly languages: readonly Language[]
  /** The pause between two refreshes while the store does not push changes, in ms. */
  readonly pollInterval: number
  /** How long the entries of a kind stay served when the store suddenly lists none of them and did not report their deletion, in ms. */
  readonly emptyHold: number
  readonly log: Log
  readonly environs: Environs
  /** Reads the registrations of tools, within what the operator allows. */
  readonly toolReader: ToolReader
  readonly registerTools: RegisterTools
  /** What is wrong with the tools that an MCP server offers now, by the id of its registration. */
  readonly toolProblems?: (id: string) => readonly string[]
  /**
   * Called with the time that a batch of changes took, in ms: from the arrival of the batch's first message at this process until requests are answered
   * from the whole batch. The time from the writer to this process is not included.
   */
  readonly onServed?: (milliseconds: number) => void
}

/** The state of the registry, from which the service tells whether it is ready. */
interface RegistryStatus {
  /** Whether every kind has been read at least once. */
  readonly loaded: boolean
  readonly store: StoreStatus & { readonly variant: Store['variant'] }
  /** The time when all entries were last compared with the store; `undefined` before the first time. */
  readonly verifiedAt: Date | undefined
  /** The reason why a read of the store has failed; `undefined` when none has failed since all entries were last compared with the store. */
  readonly problem: string | undefined
  /** The keys of the kinds whose entries stay served although the store lists none of them. */
  readonly held: readonly string[]
  /** The nodes of a cluster that list no key, and whose entries stay served. */
  readonly heldNodes: readonly string[]
  /** Why no labels of prompts (`production`) are served: the store does not let this process read what labels stand for. `undefined` when it does. */
  readonly labelsProblem: string | undefined
}
