import { type Log } from '../base/log.ts'
import pLimit from 'p-limit'
import { kindPrefix, pathToKey } from '../store/keys.ts'
import { createSlices } from '../runtime/slices.ts'
import { isWithheld, type Store, StoreError, type StoredValue, type StoreStatus } from '../store/store.ts'
import { type Language } from '../template/language.ts'
import { type ToolReader } from '../tool/definition/tool-reader.ts'
import { Announcements } from './sync/announcements.ts'
import { GenerationBuilder, type RegisterTools } from './link/build-generation.ts'
import { EmptyHold } from './sync/empty-hold.ts'
import { Entries } from './generation/entries.ts'
import { type EntryProblem } from './entries/entry-table.ts'
import { type Environs } from './kinds/environ/environs.ts'
import { type Generation } from './generation/generation.ts'
import { oneAtATime } from '../runtime/one-at-a-time.ts'
import { ReadsInFlight } from './sync/reads-in-flight.ts'
import { Seeker } from './sync/seeker.ts'
import { listStore, readAll, unionOf } from './sync/store-snapshot.ts'
import { type EntryKind, isEntryKind, type Kind } from './kinds/kind.ts'
import { offeredOf } from './generation/offered.ts'
import { releaseKind } from './kinds/release/release-kind.ts'
import { VERSIONS } from './kinds/release/version-text.ts'
import { VersionShelf } from './link/version-shelf.ts'
import { createTemplateCache, type CountedTemplateCache } from './entries/template-cache.ts'

/** How often everything is verified while changes are pushed, in ms. */
const RECONCILE_MILLISECONDS = 60_000

/** How soon the store is asked again after it could not be read, in ms: what is back is fresh within 2 s. */
const RETRY_MILLISECONDS = 500

export interface RegistryOptions {
  /** The table of kinds, with those of extensions, prompts and tools. */
  readonly kinds: readonly Kind[]
  readonly store: Store
  readonly keyPrefix: string
  readonly languages: readonly Language[]
  /** Between two refreshes while the store does not tell of changes, in ms. */
  readonly pollInterval: number
  /** How long a kind that became empty without deletes being seen is held, in ms. */
  readonly emptyHold: number
  readonly log: Log
  readonly environs: Environs
  /** Reads tools within what the operator allows them to do. */
  readonly toolReader: ToolReader
  readonly registerTools: RegisterTools
  /**
   * Told how long a batch of changes took, in ms: from the moment when the first push of the batch reached this process
   * to the moment when requests are answered from all of it. The way from the writer to this process is not in it.
   */
  readonly onServed?: (milliseconds: number) => void
}

/** What is known of the registry's health, for readiness. */
export interface RegistryStatus {
  /** Everything has been read at least once. */
  readonly loaded: boolean
  readonly store: StoreStatus & { readonly variant: Store['variant'] }
  /** When everything was last verified against the store; `undefined` before the first time. */
  readonly verifiedAt: Date | undefined
  /** Why the last refresh failed, when it did. */
  readonly problem: string | undefined
  /** Keys of the kinds that are held although the store shows none. */
  readonly held: readonly string[]
  /** Nodes of the store that show no key, and whose keys are held. */
  readonly heldNodes: readonly string[]
  /** Why labels are not served, where the store does not let this process read what they mean. */
  readonly labelsProblem: string | undefined
}

/** What is registered now. Reads the store, keeps the last good of everything, and publishes generations. */
export class Registry {
  readonly environs: Environs
  /** What compiled templates come from. */
  readonly templates: CountedTemplateCache
  readonly #options: RegistryOptions
  readonly #environPrefix: string
  readonly #entries: Entries
  readonly #hold: EmptyHold
  readonly #builder: GenerationBuilder
  readonly #shelf: VersionShelf
  readonly #versionPrefix: string
  readonly #reads = new ReadsInFlight()
  readonly #announced = new Announcements()
  readonly #refreshing = oneAtATime(() => this.#refreshOnce())
  readonly #following = oneAtATime(() => this.#followOnce())
  readonly #listeners = new Set<(generation: Generation) => void>()
  readonly #readers = new Set<(environKeys: readonly string[]) => void>()
  readonly #seeker = new Seeker(key => this.#ask(key))
  /** Tables and generation change by one hand at a time; reading goes on beside it. */
  readonly #exclusively = pLimit(1)
  #generation: Generation
  #verifiedAt: Date | undefined
  #problem: string | undefined
  #labelsProblem: string | undefined
  /** When the last refresh ended, on the clock of `performance.now()`. */
  #refreshedAt = -Infinity
  #timer: NodeJS.Timeout | undefined
  #endWatch: (() => Promise<void>) | undefined

  constructor (options: RegistryOptions) {
    const cache = createTemplateCache(options.languages)
    this.#options = options
    this.#environPrefix = options.environs.prefix
    this.templates = cache
    this.environs = options.environs
    this.#hold = new EmptyHold(options.emptyHold)
    this.#entries = new Entries({ ...options, kinds: options.kinds.filter(isEntryKind), cache })
    this.#shelf = new VersionShelf({ store: options.store, keyPrefix: options.keyPrefix, cache })
    this.#versionPrefix = kindPrefix(options.keyPrefix, VERSIONS)
    this.#builder = new GenerationBuilder(this.#entries.tables, options.registerTools, this.#shelf)
    this.#generation = this.#builder.last
  }

  get kinds (): readonly Kind[] {
    return this.#options.kinds
  }

  /** The generation in force. A request takes it once and keeps it. */
  get generation (): Generation {
    return this.#generation
  }

  /** Calls back after each generation that is published; gives the way to end that. */
  onPublished (listener: (generation: Generation) => void): () => void {
    this.#listeners.add(listener)
    return () => { this.#listeners.delete(listener) }
  }

  /**
   * Calls back whenever something was read from the store, be there a new generation or not: shared variables and entries
   * that cannot be used make none. Gives the way to end that.
   * @param listener told the keys of shared variables that the store has told of
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
    // Last, for what cannot be followed is refreshed.
    await this.#refreshing.idle()
  }

  /**
   * Verifies everything against the store and publishes what has changed; never throws, since an outage leaves what is
   * held in force. Calls that come while one runs share a single further one.
   */
  refresh (): Promise<void> {
    return this.#refreshing.run()
  }

  /** Takes in keys that this process has just written or removed; resolves when that is served, or cannot be read. */
  async follow (keys: readonly string[]): Promise<void> {
    const read = this.#reads.begin()
    await this.#changed(new Set(keys), performance.now())
    // The store's own word of the same write may come while it is being read, which outdates that reading: the next has it.
    await this.#following.idle()
    read.end()
    // Then nothing of that counts, and everything is read.
    if (read.isInterrupted) await this.#refreshing.idle()
  }

  /**
   * Looks for an entry that is not loaded, with one question to the store; resolves when it is served, if it is there.
   * @param id dotted
   * @returns whether it was found
   */
  seek ({ key }: EntryKind, id: string): Promise<boolean> {
    return this.#seeker.seek(pathToKey(id, kindPrefix(this.#options.keyPrefix, key)))
  }

  /** The versions of a prompt that other prompts pin. */
  pinsOf (id: string): readonly number[] {
    return this.#builder.pinsOf(id)
  }

  /** Publishes anew what is held, because the tools that a server offers have changed. */
  relink (): void {
    void this.#exclusively(() => this.#publish(true))
  }

  /** Believes an empty store at once, and reads it; resolves when what was stored before is served, or cannot be read. */
  async reload (): Promise<void> {
    this.#hold.release()
    this.environs.expireAll()
    await this.refresh()
    // What was written just before is told while it is being read, which outdates that reading: the next has it.
    await this.#following.idle()
    // Also when the store could not be read: what it has lost by the time it is back is held.
    this.#hold.settle()
  }

  status (): RegistryStatus {
    return {
      loaded: this.#verifiedAt !== undefined,
      store: { variant: this.#options.store.variant, ...this.#options.store.status() },
      verifiedAt: this.#verifiedAt,
      problem: this.#problem,
      held: this.#heldKinds().map(({ key }) => key),
      labelsProblem: this.#labelsProblem,
      heldNodes: this.#hold.held().filter(scope => !this.#options.kinds.some(({ key }) => key === scope))
    }
  }

  /** Every key that is not served as it is stored, with the reasons: first what is wrong with it, then to which other it lost its place. */
  problems (): EntryProblem[] {
    const lost = new Map(this.#generation.conflicts.map(conflict => [conflict.key, conflict]))
    const own = [...this.#entries.problems(), ...this.environs.problems()].map(problem => {
      const conflict = lost.get(problem.key)
      if (conflict === undefined) return problem
      lost.delete(problem.key)
      return { ...conflict, diagnostics: [...problem.diagnostics, ...conflict.diagnostics] }
    })
    return [...own, ...lost.values()]
  }

  /** An outage finds nothing, and is reported by those who read everything. */
  async #ask (key: string): Promise<boolean> {
    try {
      const [exists] = await this.#options.store.has([key])
      if (exists === true) await this.follow([key])
      return exists === true
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      return false
    }
  }

  #isRefreshDue (): boolean {
    if (this.#refreshing.isRunning()) return false
    if (this.#problem !== undefined || this.environs.index.needsCompaction) return true
    // What is held waits for keys to come back, or for its time to run out; nothing tells of either.
    const isPushed = this.#options.store.status().changes === 'pushed' && this.#hold.held().length === 0
    return performance.now() - this.#refreshedAt >= (isPushed ? RECONCILE_MILLISECONDS : this.#options.pollInterval)
  }

  #changed (keys: ReadonlySet<string> | undefined, since: number): Promise<void> {
    if (keys !== undefined) {
      this.#reads.changed(keys)
      this.environs.expireKeys([...keys].filter(key => key.startsWith(this.#environPrefix)))
      const tooMany = this.#announced.add(keys, since)
      // Before the first whole reading nothing is served that could be followed up.
      if (!tooMany) return this.#verifiedAt === undefined ? this.refresh() : this.#following.run()
    }
    // What was told before an outage would count as having seen the deletes of all that the store has lost in it.
    this.#announced.clear()
    this.#reads.interrupt()
    this.environs.expireAll()
    return this.refresh()
  }

  /** Reads what the store has told of, and nothing else. */
  async #followOnce (): Promise<void> {
    const { keys, since } = this.#announced.take()
    if (keys.length === 0) return
    const { store, onServed } = this.#options
    const environKeys = keys.filter(key => key.startsWith(this.#environPrefix))
    const entryKeys = keys.filter(key => this.#entries.kindOf(key) !== undefined)
    const read = this.#reads.begin()
    // After an interruption everything is read again: what this has found may have gone before that began.
    const isDoubtful = (key: string): boolean => read.hasChanged(key) || read.isInterrupted
    try {
      const [values, exist] = await Promise.all([readAll(store, entryKeys), store.has(environKeys)])
      await this.#exclusively(async () => {
        this.environs.applyKeys(environKeys.map((key, index) => [key, exist[index] === true] as const).filter(([key]) => !isDoubtful(key)))
        await this.#entries.take({ values, isDoubtful })
        await this.#publish(keys.some(key => key.startsWith(this.#versionPrefix)) && await this.#builder.fillGaps())
        this.#endHolds()
      })
      for (const reader of this.#readers) reader(environKeys)
      onServed?.(performance.now() - since)
      await this.environs.readAhead(environKeys)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#failed(error.message)
      // These keys are read with all others, whose listing knows what an outage looks like.
      void this.refresh()
    } finally {
      read.end()
    }
  }

  /** Reads everything; nothing is taken in, and nothing dropped, before all was read. */
  async #refreshOnce (): Promise<void> {
    const { store, keyPrefix, kinds } = this.#options
    const read = this.#reads.begin()
    const environs = this.environs.beginListing()
    try {
      const { keys, counts, emptyNodes } = await listStore(store, keyPrefix, kinds, environs)
      const accepted = this.#acceptedKinds(counts)
      const isHeld = await this.#holdNodes(emptyNodes)
      if (isHeld !== undefined) await environs.keep(isHeld)
      // Known keys are read even if the listing lacks them: while a cluster moves a key, neither of its nodes may list it.
      const wanted = [...this.#entries.tables.kinds].filter(kind => accepted.has(kind)).map(kind => unionOf(keys.get(kind) ?? new Set(), this.#entries.tables.of(kind).keys()))
      const isLazyAccepted = [...accepted].some(({ reading }) => reading === 'lazy')
      const probes = [kindPrefix(keyPrefix, releaseKind.key), this.#versionPrefix]
      const stored = await readAll(store, [...probes, ...wanted.flat()])
      this.#judgeLabels(stored.slice(0, probes.length))
      const values = stored.slice(probes.length)
      // A key that was listed and is gone now was deleted, and its push says so, or lost, and the next listing lacks it. The same
      // holds after an interruption.
      const mayBeLost = (key: string): boolean => read.isInterrupted || [...keys.values()].some(listed => listed.has(key))
      if (isLazyAccepted) await environs.finish()
      await this.#exclusively(async () => {
        if (isLazyAccepted && (!read.isInterrupted || this.#verifiedAt === undefined)) environs.replace()
        await this.#entries.take({ values, isDoubtful: (key, { kind }) => read.hasChanged(key) || (kind === 'missing' && (mayBeLost(key) || isHeld?.(key) === true)) })
        await this.#publish(await this.#builder.fillGaps() || this.#generation.number === 0)
      })
      if (this.#shelf.failure === undefined) this.#verified()
      for (const reader of this.#readers) reader([])
      await this.environs.readAhead()
      if (store.status().changes === 'pushed') void this.environs.verifyValues()
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#failed(error.message)
    } finally {
      environs.abandon()
      read.end()
      this.#refreshedAt = performance.now()
    }
    if (this.#announced.size > 0 && this.#problem === undefined) void this.#following.run()
  }

  /** An ACL from before there were labels names the prefixes of the other kinds. Then nothing is read there, and all else goes on. */
  #judgeLabels (probes: ReadonlyArray<readonly [prefix: string, value: StoredValue]>): void {
    const withheld = probes.filter(([, value]) => isWithheld(value)).map(([prefix]) => prefix)
    const problem = withheld.length === 0 ? undefined : `labels are not served: the store lets this process read nothing below ${withheld.join(' and ')}`
    if (problem !== undefined && problem !== this.#labelsProblem) this.#options.log.warn({ prefixes: withheld }, problem)
    this.#labelsProblem = problem
  }

  /** The kinds whose listing is believed; of the others all that is loaded is held. */
  #acceptedKinds (counts: ReadonlyMap<Kind, number>): ReadonlySet<Kind> {
    const accepted = this.#options.kinds.filter(kind => {
      const decision = this.#hold.decide(kind.key, this.#keysOf(kind), counts.get(kind) ?? 0, key => this.#announced.has(key))
      if (decision === 'held now') this.#options.log.warn({ kind: kind.key }, 'every key of this kind has gone, and not every delete was seen; what was loaded is held')
      return decision === 'accept'
    })
    return new Set(accepted)
  }

  /**
   * Holds the keys of nodes that show none: a node of a cluster that was flushed, or gave way to a replica that has not
   * synchronised, is no list of deletions. Gives which keys are held, if any.
   */
  async #holdNodes (empty: ReadonlySet<string>): Promise<((key: string) => boolean) | undefined> {
    const { nodes } = this.#options.store
    if (nodes === undefined) return undefined
    const held = new Set<string>()
    for (const node of nodes.names()) {
      const lost = empty.has(node) ? await this.#firstUnannounced(key => nodes.of(key) === node) : undefined
      const decision = this.#hold.decide(node, lost === undefined ? [] : [lost], empty.has(node) ? 0 : 1, () => false)
      if (decision === 'held now') this.#options.log.warn({ node }, 'every key of this node of the store has gone, and not every delete was seen; what was loaded is held')
      if (decision !== 'accept') held.add(node)
    }
    return held.size === 0 ? undefined : key => held.has(nodes.of(key) as string)
  }

  /** A loaded key that passes a test and whose deletion the store has not told of. */
  async #firstUnannounced (test: (key: string) => boolean): Promise<string | undefined> {
    const slices = createSlices()
    for (const kind of this.#options.kinds) {
      for (const key of this.#keysOf(kind)) {
        if (test(key) && !this.#announced.has(key)) return key
        if (slices.isDue()) await slices.pause()
      }
    }
    return undefined
  }

  #keysOf (kind: Kind): Iterable<string> {
    return isEntryKind(kind) ? this.#entries.tables.of(kind).keys() : this.environs.keys()
  }

  #heldKinds (): Kind[] {
    const held = new Set(this.#hold.held())
    return this.#options.kinds.filter(({ key }) => held.has(key))
  }

  /** Ends the hold of kinds whose last key was seen to be deleted. */
  #endHolds (): void {
    for (const kind of this.#heldKinds()) {
      const size = isEntryKind(kind) ? this.#entries.tables.of(kind).size : this.environs.index.size
      if (size === 0) this.#hold.decide(kind.key, [], 0, () => true)
    }
  }

  /** Makes the next generation, if there is anything new in it. @param hasNews whether there is beside the entries, such as what tool servers offer */
  async #publish (hasNews: boolean): Promise<void> {
    if (!hasNews && !this.#entries.hasChanged) return
    this.#generation = await this.#builder.build(hasNews)
    if (this.#shelf.failure !== undefined) this.#failed(this.#shelf.failure)
    const { number, revision } = this.#generation
    const counts = this.#options.kinds.map(kind => [kind.name, isEntryKind(kind) ? offeredOf(this.#generation, kind).size : this.environs.index.size] as const)
    this.#options.log.info({ generation: number, revision, ...Object.fromEntries(counts) }, 'registry published')
    for (const listener of this.#listeners) listener(this.#generation)
  }

  #verified (): void {
    if (this.#problem !== undefined) this.#options.log.info({}, 'the store answers again')
    this.#problem = undefined
    this.#verifiedAt = new Date()
  }

  #failed (reason: string): void {
    if (this.#problem !== reason) this.#options.log.warn({ reason }, 'the store cannot be read; what was loaded stays in force')
    this.#problem = reason
  }
}
