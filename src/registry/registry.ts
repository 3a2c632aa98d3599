import { KINDS, keyToPath, type Kind, kindPrefix, pathToKey } from '../store/keys.ts'
import { type Store, type StoredValue, StoreError, type StoreStatus } from '../store/store.ts'
import { type Language } from '../template/language.ts'
import { type Operator } from '../tool/operator.ts'
import { buildGeneration, type RegisterTools, type Tables } from './build-generation.ts'
import { createSlices } from './slices.ts'
import { EmptyHold } from './empty-hold.ts'
import { type EntryProblem, EntryTable } from './entry-table.ts'
import { type Environs } from './environs.ts'
import { extensionParser } from './extension-entry.ts'
import { type Generation } from './generation.ts'
import { oneAtATime } from './one-at-a-time.ts'
import { createTemplateCache } from './template-cache.ts'
import { templateParser } from './template-entry.ts'
import { toolParser } from './tool-entry.ts'

/** Keys read in one round trip. */
const BATCH = 500

/** With more shared variables than this, values are only read when a render needs them. */
const MAX_READ_AHEAD = 1000

/** What the registry tells of; a subset of a pino logger. */
export interface RegistryLog {
  info (details: object, message: string): void
  warn (details: object, message: string): void
}

export interface RegistryOptions {
  readonly store: Store
  readonly keyPrefix: string
  readonly languages: readonly Language[]
  /** Between two refreshes that nothing asked for, in ms. */
  readonly pollInterval: number
  /** How long a kind that became empty without deletes being seen is held, in ms. */
  readonly emptyHold: number
  readonly log: RegistryLog
  readonly environs: Environs
  /** What the operator allows tools to do. */
  readonly operator: Operator
  readonly registerTools: RegisterTools
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
  /** Kinds that are held although the store shows none. */
  readonly held: readonly Kind[]
}

/** Keys that the store told of since the last refresh, or that it may have forgotten to tell of some. */
type Announced = Set<string> | 'anything'

/** What is registered now. Reads the store, keeps the last good of everything, and publishes generations. */
export class Registry {
  readonly environs: Environs
  readonly #options: RegistryOptions
  readonly #tables: Tables
  readonly #hold: EmptyHold
  #generation: Generation
  #verifiedAt: Date | undefined
  #problem: string | undefined
  readonly #refreshing = oneAtATime(() => this.#refreshOnce())
  #timer: NodeJS.Timeout | undefined
  #endWatch: (() => Promise<void>) | undefined
  #announced: Announced = new Set()

  constructor (options: RegistryOptions) {
    const prefix = (kind: Kind) => kindPrefix(options.keyPrefix, kind)
    const cache = createTemplateCache(options.languages)
    this.#options = options
    this.environs = options.environs
    this.#hold = new EmptyHold(options.emptyHold)
    this.#tables = {
      extensions: new EntryTable(extensionParser(prefix('extensions'), cache)),
      templates: new EntryTable(templateParser(prefix('templates'), cache)),
      tools: new EntryTable(toolParser(prefix('tools'), options.operator))
    }
    this.#generation = buildGeneration(this.#tables, options.registerTools, 0)
  }

  /** The generation in force. A request takes it once and keeps it. */
  get generation (): Generation {
    return this.#generation
  }

  /** Reads everything once, then follows the store. A store that is absent is no error: the registry waits for it. */
  async start (): Promise<void> {
    this.#endWatch = await this.#options.store.watch(keys => { void this.#changed(keys) })
    await this.refresh()
    this.#timer = setInterval(() => { void this.refresh() }, this.#options.pollInterval)
    this.#timer.unref()
  }

  async stop (): Promise<void> {
    clearInterval(this.#timer)
    await this.#endWatch?.()
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
  follow (keys: readonly string[]): Promise<void> {
    return this.#changed(new Set(keys))
  }

  /** Publishes anew what is held, because the tools that a server offers have changed. */
  relink (): void {
    this.#publish()
  }

  /** Believes an empty store at once, and reads it. */
  async reload (): Promise<void> {
    this.#hold.release()
    this.environs.expire(this.environs.index)
    await this.refresh()
  }

  status (): RegistryStatus {
    return {
      loaded: this.#verifiedAt !== undefined,
      store: { variant: this.#options.store.variant, ...this.#options.store.status() },
      verifiedAt: this.#verifiedAt,
      problem: this.#problem,
      held: this.#hold.held()
    }
  }

  /** Every key that is not served as it is stored, with the reasons. */
  problems (): EntryProblem[] {
    return [
      ...this.#tables.extensions.problems(),
      ...this.#tables.templates.problems(),
      ...this.environs.problems(),
      ...this.#tables.tools.problems(),
      ...this.#generation.conflicts
    ]
  }

  #changed (keys: ReadonlySet<string> | undefined): Promise<void> {
    const prefix = kindPrefix(this.#options.keyPrefix, 'environs')
    if (keys === undefined || this.#announced === 'anything') {
      this.#announced = 'anything'
      this.environs.expire(this.environs.index)
    } else {
      for (const key of keys) this.#announced.add(key)
      this.environs.expire([...keys].filter(key => key.startsWith(prefix)).map(key => keyToPath(key, prefix)))
    }
    return this.refresh()
  }

  async #refreshOnce (): Promise<void> {
    const announced = this.#announced
    this.#announced = new Set()
    try {
      const listings = await this.#list(announced)
      // Names first: tools look up there where their modules are.
      const fresh = listings.environs === undefined ? [] : this.environs.replaceKeys(listings.environs)
      const changed = await this.#readEntries(listings)
      if (changed || this.#verifiedAt === undefined) this.#publish()
      this.#verified()
      await this.#readAhead(fresh)
    } catch (error) {
      if (!(error instanceof StoreError)) throw error
      this.#announced = together(announced, this.#announced)
      this.#failed(error.message)
    }
  }

  /** All keys by kind; a kind that is held is left out. Whole or not at all. */
  async #list (announced: Announced): Promise<Partial<Record<Kind, readonly string[]>>> {
    const { store, keyPrefix, log } = this.#options
    const listings = await Promise.all(KINDS.map(async kind => [kind, await store.list(kindPrefix(keyPrefix, kind))] as const))
    const accepted = listings.filter(([kind, keys]) => {
      const present = kind === 'environs' ? this.#environKeys() : this.#tables[kind].keys()
      const decision = this.#hold.decide(kind, present, keys.length, key => announced !== 'anything' && announced.has(key))
      if (decision === 'held now') log.warn({ kind }, 'every key of this kind has gone without deletes being seen; what was loaded is held')
      return decision === 'accept'
    })
    this.#hold.settle()
    return Object.fromEntries(accepted)
  }

  * #environKeys (): Generator<string> {
    const prefix = kindPrefix(this.#options.keyPrefix, 'environs')
    for (const name of this.environs.index) yield pathToKey(name, prefix)
  }

  /** Reads every extension, template and tool; parses those whose text has changed. Nothing is dropped before all was read. */
  async #readEntries (listings: Partial<Record<Kind, readonly string[]>>): Promise<boolean> {
    const slices = createSlices()
    const kinds = (['extensions', 'templates', 'tools'] as const).filter(kind => listings[kind] !== undefined)
    const values = await Promise.all(kinds.map(kind => this.#readAll(listings[kind] ?? [])))
    let changed = false
    for (const [index, kind] of kinds.entries()) {
      const table = this.#tables[kind]
      changed = table.retain(new Set(listings[kind])) || changed
      for (const [key, value] of values[index] ?? []) {
        if (table.take(key, value)) {
          changed = true
          this.#logProblem(table.problem(key))
        }
        if (slices.isDue()) await slices.pause()
      }
    }
    return changed
  }

  async #readAll (keys: readonly string[]) {
    const values: Array<readonly [string, StoredValue]> = []
    for (let start = 0; start < keys.length; start += BATCH) {
      const batch = keys.slice(start, start + BATCH)
      const results = await this.#options.store.read(batch)
      for (const [index, key] of batch.entries()) values.push([key, results[index] ?? { kind: 'missing' }] as const)
    }
    return values
  }

  #publish (): void {
    const next = buildGeneration(this.#tables, this.#options.registerTools, this.#generation.number + 1)
    this.#generation = next
    const { number, revision, extensions, prompts, tools } = next
    this.#options.log.info({ generation: number, revision, extensions: extensions.size, prompts: prompts.size, environs: this.environs.index.size, tools: tools.size }, 'registry published')
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

  #logProblem (problem: EntryProblem | undefined): void {
    if (problem === undefined) return
    const reasons = problem.diagnostics.filter(diagnostic => diagnostic.severity === 'error').map(diagnostic => diagnostic.message)
    this.#options.log.warn({ key: problem.key, reasons, servesLastGood: problem.servesLastGood }, 'entry rejected')
  }

  /** Finds bad shared variables before a render meets them, where there are few enough to look at all. */
  async #readAhead (names: readonly string[]): Promise<void> {
    if (names.length === 0 || this.environs.index.size > MAX_READ_AHEAD) return
    // A value that cannot be read is noted as a problem of its key; here nobody waits for it.
    await this.environs.fetch(names).catch(() => {})
  }
}

function together (a: Announced, b: Announced): Announced {
  return a === 'anything' || b === 'anything' ? 'anything' : new Set([...a, ...b])
}
