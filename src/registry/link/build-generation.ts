import { createHash } from 'node:crypto'
import { contentHash } from '../../base/json.ts'
import { withArticle } from '../../base/text.ts'
import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import type { ToolDefinition } from '../../tool/definition.ts'
import { type Diagnostic, reject, shadowed } from '../diagnostic.ts'
import type { EntryTables } from '../entries/entries.ts'
import type { EntryProblem, EntryTable } from '../entries/entry-table.ts'
import type { CallableTool, Definitions, Extension, Generation, Prompt, Tool } from '../generation.ts'
import { type Definition, type DefinitionKind, isDefinitionKind } from '../kinds/entry-kind.ts'
import { type ExtensionDefinition, type ExtensionEntry, extensionKind, isOffered, missingDependences } from '../kinds/extension-kind.ts'
import { type PromptEntry, promptKind } from '../kinds/prompt-kind.ts'
import { releaseKind } from '../kinds/release-kind.ts'
import { type ToolEntry, toolKind } from '../kinds/tool-kind.ts'
import { Linker, type Lookup } from './link-prompts.ts'
import { ReleaseLinker } from './release-linker.ts'
import type { VersionCache } from './version-cache.ts'

interface OwnedEntry {
  readonly id: string
  readonly origin: 'direct' | 'extension'
}

/** An extension's key makes one claim for each entry that it brings. */
interface IdOwner<T extends OwnedEntry> {
  readonly key: string
  readonly offer: T
}

/** Of several keys for one id, an entry with a key of its own wins, otherwise the extension with the smallest key. */
class IdOwners<T extends OwnedEntry> {
  readonly #claims = new Map<string, readonly IdOwner<T>[]>()
  readonly #contested = new Set<string>()
  readonly #idsByKey = new Map<string, readonly string[]>()

  get (id: string): T | undefined {
    return this.#claims.get(id)?.[0]?.offer
  }

  offeredBy (key: string): readonly string[] {
    return this.#idsByKey.get(key) ?? []
  }

  /** Returns whether several keys claim one of the ids, now or before. */
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

  * shadowed (): Generator<readonly [key: string, offer: T, winner: IdOwner<T>]> {
    for (const id of this.#contested) {
      const [winner, ...others] = this.#claims.get(id) as readonly [IdOwner<T>, ...IdOwner<T>[]]
      for (const { key, offer } of others) yield [key, offer, winner]
    }
  }

  #put (id: string, claims: readonly IdOwner<T>[]): void {
    if (claims.length === 0) this.#claims.delete(id)
    else this.#claims.set(id, claims)
    if (claims.length > 1) this.#contested.add(id)
    else this.#contested.delete(id)
  }
}

/** Two own keys can have one id, when they differ only in `.` and `:`; the larger key wins. */
function byPrecedence (one: IdOwner<OwnedEntry>, other: IdOwner<OwnedEntry>): number {
  if (one.offer.origin !== other.offer.origin) return one.offer.origin === 'direct' ? -1 : 1
  if (one.key === other.key) return 0
  return (one.key < other.key) === (one.offer.origin === 'extension') ? -1 : 1
}

/** A definition with a key of its own comes before one that an extension brings. */
class DefinitionLinker {
  readonly #tables: EntryTables
  readonly #claims: ReadonlyMap<DefinitionKind, IdOwners<Definition>>

  constructor (tables: EntryTables, kinds: readonly DefinitionKind[]) {
    this.#tables = tables
    this.#claims = new Map(kinds.map(kind => [kind, new IdOwners()]))
  }

  get contested (): ContestedKind[] {
    return [...this.#claims].map(([{ name, noun }, claims]) => ({ claims, words: { name, noun, direct: noun } }))
  }

  async next (
    changed: ReadonlyMap<string, ReadonlySet<string>>,
    last: Definitions,
    slices: Slices
  ): Promise<{ readonly definitions: Definitions, readonly contested: boolean }> {
    const definitions = new Map(last)
    let contested = false
    for (const [kind, claims] of this.#claims) {
      const ids = new Set<string>()
      const take = (key: string, offers: readonly Definition[]): void => {
        for (const id of claims.offeredBy(key)) ids.add(id)
        for (const { id } of offers) ids.add(id)
        contested = claims.set(key, offers) || contested
      }
      for (const key of changed.get(kind.key) ?? []) {
        const entry = this.#tables.of(kind).entry(key)
        take(key, entry === undefined ? [] : [entry])
        if (slices.isDue()) await slices.pause()
      }
      for (const key of changed.get(extensionKind.key) ?? []) {
        const entry = this.#tables.of(extensionKind).entry(key)
        take(key, entry === undefined || !isOffered(entry.definition) ? [] : entry.definitions.get(kind.key) ?? [])
        if (slices.isDue()) await slices.pause()
      }
      if (ids.size > 0) definitions.set(kind.key, withCurrent(last.get(kind.key), ids, claims))
    }
    return { definitions, contested }
  }
}

function withCurrent (
  last: ReadonlyMap<string, Definition> | undefined,
  ids: ReadonlySet<string>,
  claims: IdOwners<Definition>
): ReadonlyMap<string, Definition> {
  const next = new Map(last)
  for (const id of ids) {
    const definition = claims.get(id)
    if (definition === undefined) next.delete(id)
    else next.set(id, definition)
  }
  return next
}

/** Modulo 2^256. */
const MASK = (1n << 256n) - 1n

/** A sum of hashes: order and history do not count, and a change costs the same for any size (https://people.csail.mit.edu/devadas/pubs/mhashes.pdf). */
class SetHash {
  readonly #hashes = new Map<string, bigint>()
  #sum = 0n

  /** `undefined` removes the member. */
  set (key: string, content: string | undefined): void {
    const before = this.#hashes.get(key) ?? 0n
    const after = content === undefined ? 0n : hashOf(key, content)
    if (content === undefined) this.#hashes.delete(key)
    else this.#hashes.set(key, after)
    this.#sum = (this.#sum - before + after) & MASK
  }

  /** 12 characters that need no escaping. */
  digest (): string {
    return createHash('sha256').update(this.#sum.toString(16)).digest('base64url').slice(0, 12)
  }
}

function hashOf (key: string, content: string): bigint {
  return BigInt(`0x${createHash('sha256').update(JSON.stringify([key, content])).digest('hex')}`)
}

export type RegisterTools = (definitions: readonly ToolDefinition[]) => readonly CallableTool[]

type Changed = ReadonlyMap<string, ReadonlySet<string>>

const EMPTY: Omit<Generation, 'findRejected' | 'revisions'> = {
  number: 0,
  revision: contentHash([]),
  extensions: new Map(),
  prompts: new Map(),
  everyPrompt: new Map(),
  tools: new Map(),
  definitions: new Map(),
  releases: new Map(),
  conflicts: []
}

/** Unchanged objects are shared with the last generation. Works in slices; the tables must not change meanwhile. */
export class GenerationBuilder {
  readonly #tables: EntryTables
  readonly #registerTools: RegisterTools
  readonly #toolProblems: (id: string) => readonly string[]
  readonly #claims = new IdOwners<PromptEntry>()
  readonly #definitions: DefinitionLinker
  readonly #contested: readonly ContestedKind[]
  readonly #hashes: ReadonlyMap<string, SetHash>
  readonly #linker: Linker
  readonly #releases: ReleaseLinker
  #callable: ReadonlyMap<string, CallableTool> = new Map()
  #toolConflicts: readonly EntryProblem[] = []
  #keyConflicts: readonly EntryProblem[] = []
  #last: Generation

  /** The cache keeps old versions that a label or another prompt names. */
  constructor (tables: EntryTables, registerTools: RegisterTools, shelf: VersionCache, toolProblems: (id: string) => readonly string[] = () => []) {
    const kinds = [...tables.kinds]
    const byKey = new Map(kinds.map(kind => [kind.key, tables.of(kind)]))
    this.#tables = tables
    this.#hashes = new Map(kinds.map(({ key }) => [key, new SetHash()]))
    this.#last = { ...EMPTY, revisions: this.#revisions(), findRejected: (kind, name) => byKey.get(kind.key)?.problemOf(name) }
    this.#definitions = new DefinitionLinker(tables, kinds.filter(isDefinitionKind))
    this.#contested = [{ claims: this.#claims, words: { ...promptKind, direct: 'template' } }, ...this.#definitions.contested]
    this.#registerTools = registerTools
    this.#toolProblems = toolProblems
    const callable = { get: (name: string) => this.#callable.get(name) }
    this.#releases = new ReleaseLinker({ table: tables.of(releaseKind), shelf, latest: this.#claims, tools: callable })
    this.#linker = new Linker({ get: id => this.#claims.get(id) ?? this.#releases.pinned(id) }, callable)
  }

  get last (): Generation {
    return this.#last
  }

  /** Missing versions that labels mean. Returns whether the next generation would differ. */
  fillGaps (): Promise<boolean> {
    return this.#releases.fillGaps(createSlices())
  }

  /** Named with their number (`review.system@7`). */
  pinsOf (id: string): readonly number[] {
    return this.#releases.pinsOf(id)
  }

  /** `offersChanged`: an MCP server offers other tools than before. */
  async build (offersChanged: boolean): Promise<Generation> {
    const slices = createSlices()
    const changed = new Map([...this.#tables.kinds].map(kind => [kind.key, this.#tables.of(kind).takeChanged()]))
    await this.#updateHashes(changed, slices)
    const { tools, names } = this.#nextTools(keysOf(changed, toolKind).size > 0 || offersChanged)
    const before = new Map<string, PromptEntry | undefined>()
    const promptsContested = await this.#updateClaims(changed, before, slices)
    const { definitions, contested: definitionsContested } = await this.#definitions.next(changed, this.#last.definitions, slices)
    const contested = promptsContested || definitionsContested
    const changedPrompts = changedAmong(before, this.#claims)
    const lookups = [...names.map((name): Lookup => `tool ${name}`), ...await this.#releases.load(keysOf(changed, releaseKind), changedPrompts, slices)]
    const promptNames = [...changedPrompts.keys()].map((id): Lookup => `prompt ${id}`)
    const prompts = await this.#nextPrompts(before, lookups, slices)
    const releases = await this.#releases.link([...lookups, ...promptNames], slices)
    if (contested) this.#keyConflicts = keyConflicts(this.#contested)
    const conflicts = [...this.#toolConflicts, ...this.#keyConflicts, ...this.#releases.problems()]
    const extensions = contested ? await describeExtensions(this.#tables.of(extensionKind), this.#contested, slices) : this.#last.extensions
    const revisions = this.#revisions()
    this.#last = {
      ...this.#last,
      number: this.#last.number + 1,
      revision: contentHash([...revisions.values()]),
      extensions,
      prompts,
      everyPrompt: prompts,
      tools,
      definitions,
      releases,
      conflicts,
      revisions
    }
    return this.#last
  }

  async #updateHashes (changed: Changed, slices: Slices): Promise<void> {
    for (const kind of this.#tables.kinds) {
      const table = this.#tables.of(kind)
      for (const key of keysOf(changed, kind)) {
        this.#hashes.get(kind.key)?.set(key, table.entry(key)?.hash)
        if (slices.isDue()) await slices.pause()
      }
    }
  }

  #revisions (): ReadonlyMap<string, string> {
    return new Map([...this.#hashes].map(([kind, hash]) => [kind, hash.digest()]))
  }

  #nextTools (isDue: boolean): Pick<Generation, 'tools'> & { names: readonly string[] } {
    if (!isDue) return { tools: this.#last.tools, names: [] }
    const { tools, conflicts } = chooseTools(this.#tables.of(toolKind), this.#toolProblems)
    this.#toolConflicts = conflicts
    const callable = this.#registerTools(Array.from(tools.values(), tool => tool.definition))
    const before = this.#callable
    this.#callable = new Map(callable.map(tool => [tool.name, tool]))
    const names = [...new Set([...before.keys(), ...this.#callable.keys()])].filter(name => before.get(name) !== this.#callable.get(name))
    return { tools: withOffered(tools, callable), names }
  }

  /** `before` gets, for each affected id, what was served until now. Returns whether extensions must be described anew. */
  async #updateClaims (changed: Changed, before: Map<string, PromptEntry | undefined>, slices: Slices): Promise<boolean> {
    const [extensions, templates] = [this.#tables.of(extensionKind), this.#tables.of(promptKind)]
    let contested = keysOf(changed, extensionKind).size > 0
    const take = (key: string, prompts: readonly PromptEntry[]): void => {
      for (const id of [...this.#claims.offeredBy(key), ...prompts.map(prompt => prompt.id)]) if (!before.has(id)) before.set(id, this.#claims.get(id))
      contested = this.#claims.set(key, prompts) || contested
    }
    for (const key of keysOf(changed, promptKind)) {
      const entry = templates.entry(key)
      take(key, entry === undefined ? [] : [entry])
      if (slices.isDue()) await slices.pause()
    }
    for (const key of keysOf(changed, extensionKind)) {
      const entry = extensions.entry(key)
      take(key, entry === undefined || !isOffered(entry.definition) ? [] : entry.prompts)
      if (slices.isDue()) await slices.pause()
    }
    return contested
  }

  /** Links only what has changed or depends on a change. */
  async #nextPrompts (before: ReadonlyMap<string, PromptEntry | undefined>, lookups: readonly Lookup[], slices: Slices): Promise<ReadonlyMap<string, Prompt>> {
    const ids = new Set<string>()
    const names = [...lookups]
    for (const [id, entry] of before) {
      if (this.#claims.get(id) === entry) continue
      ids.add(id)
      names.push(`prompt ${id}`)
      if (entry !== undefined) this.#linker.drop(entry)
      if (slices.isDue()) await slices.pause()
    }
    if (names.length === 0) return this.#last.prompts
    for (const { id, version } of await this.#linker.forget(names, slices)) if (version === undefined) ids.add(id)
    if (ids.size === 0) return this.#last.prompts
    const prompts = await copyOf(this.#last.prompts, slices)
    for (const id of ids) {
      const entry = this.#claims.get(id)
      if (entry === undefined) prompts.delete(id)
      else prompts.set(id, this.#linker.link(entry))
      if (slices.isDue()) await slices.pause()
    }
    return prompts
  }
}

function keysOf (changed: Changed, { key }: { readonly key: string }): ReadonlySet<string> {
  return changed.get(key) ?? new Set()
}

/** Members copied before the clock is asked whether a pause is due. */
const MEMBERS_PER_LOOK = 1000

async function copyOf<T> (map: ReadonlyMap<string, T>, slices: Slices): Promise<Map<string, T>> {
  const copy = new Map<string, T>()
  for (const [key, value] of map) {
    copy.set(key, value)
    if (copy.size % MEMBERS_PER_LOOK === 0 && slices.isDue()) await slices.pause()
  }
  return copy
}

function changedAmong (
  before: ReadonlyMap<string, PromptEntry | undefined>,
  now: Pick<IdOwners<PromptEntry>, 'get'>
): ReadonlyMap<string, PromptEntry | undefined> {
  return new Map([...before].filter(([id, entry]) => now.get(id) !== entry))
}

/** Of two tools with one function name the smaller key wins, the other is a conflict. */
function chooseTools (
  table: EntryTable<ToolEntry>,
  problemsOf: (id: string) => readonly string[]
): { tools: Map<string, Tool>, conflicts: EntryProblem[] } {
  const owners = new Map<string, string>()
  const tools = new Map<string, Tool>()
  const conflicts: EntryProblem[] = []
  for (const key of [...table.keys()].sort()) {
    const entry = table.entry(key)
    if (entry === undefined) continue
    const { id, definition } = entry
    const { name } = definition
    const owner = owners.get(name)
    if (owner === undefined) {
      owners.set(name, key)
      tools.set(id, { id, definition, diagnostics: () => [...entry.diagnostics(), ...problemsOf(id).map(unusable)], isRegistered: true })
    } else conflicts.push({ key, diagnostics: takenBy(owner, name), servesLastGood: false })
  }
  return { tools, conflicts }
}

function unusable (message: string): Diagnostic {
  return { severity: 'warning', code: 'TOOL_OFFER_UNUSABLE', message }
}

function takenBy (owner: string, name: string): readonly Diagnostic[] {
  return reject('FUNCTION_TAKEN', `its function name ${name} belongs to ${owner}`, 'give it another key').diagnostics
}

/** One registration of an MCP server brings many tools. */
function withOffered (registered: ReadonlyMap<string, Tool>, callable: readonly CallableTool[]): Map<string, Tool> {
  const tools = new Map(registered)
  for (const tool of callable) {
    const { id, definition } = tool
    tools.set(id, { id, definition, diagnostics: registered.get(id)?.diagnostics ?? (() => []), isRegistered: registered.has(id), callable: tool })
  }
  return tools
}

async function describeExtensions (
  table: EntryTable<ExtensionEntry>,
  contested: readonly ContestedKind[],
  slices: Slices
): Promise<Map<string, Extension>> {
  const shadowedBy = shadowedByKey(contested)
  const present = new Map<string, ExtensionDefinition[]>()
  const entries = [...table.keys()].sort().flatMap(key => {
    const entry = table.entry(key)
    return entry === undefined ? [] : [[key, entry] as const]
  })
  for (const [, { definition }] of entries) {
    if (isOffered(definition)) present.set(definition.name, [...present.get(definition.name) ?? [], definition])
  }
  const keys = new Map<string, string>()
  const extensions = new Map<string, Extension>()
  for (const [key, entry] of entries) {
    const { id, definition } = entry
    const missing = missingDependences(definition, definition.dependences.flatMap(({ name }) => present.get(name) ?? []))
    const isDegraded = missing.some(diagnostic => diagnostic.severity === 'error')
    const hidden = keys.get(id)
    keys.set(id, key)
    extensions.set(id, {
      id,
      definition,
      state: stateOf(definition, isDegraded),
      diagnostics: [...entry.diagnostics, ...missing, ...shadowedBy.get(key) ?? [], ...hidden === undefined ? [] : [hides(key, hidden)]]
    })
    if (slices.isDue()) await slices.pause()
  }
  return extensions
}

function shadowedByKey (contested: readonly ContestedKind[]): ReadonlyMap<string, readonly Diagnostic[]> {
  const byKey = new Map<string, Diagnostic[]>()
  for (const { claims, words } of contested) {
    for (const [key, { id, origin }, winner] of claims.shadowed()) {
      if (origin !== 'extension') continue
      const extension = winner.key === key ? 'the one before it' : 'another extension of that name'
      const by = winner.offer.origin === 'direct' ? `${withArticle(words.direct)} of that id` : extension
      byKey.set(key, [...byKey.get(key) ?? [], shadowed(words, id, by)])
    }
  }
  return byKey
}

function hides (key: string, hidden: string): Diagnostic {
  return { severity: 'warning', code: 'KEY_TAKEN', message: `${hidden} has the same id as ${key}, and is not listed` }
}

function stateOf (definition: ExtensionDefinition, isDegraded: boolean): Extension['state'] {
  if (definition.incompatibility !== undefined) return 'incompatible'
  if (!definition.isKnownType) return 'inactive'
  return isDegraded ? 'degraded' : 'active'
}

interface ContestedKind {
  readonly claims: IdOwners<OwnedEntry>
  readonly words: {
    readonly name: string
    readonly noun: string
    readonly direct: string
  }
}

function keyConflicts (contested: readonly ContestedKind[]): EntryProblem[] {
  return contested.flatMap(({ claims }) => [...claims.shadowed()])
    .filter(([, { origin }]) => origin === 'direct')
    .map(([key, { id }, winner]) => ({
      key,
      diagnostics: reject('KEY_TAKEN', `its id ${id} is that of ${winner.key}, which is served in its place`).diagnostics,
      servesLastGood: false
    }))
}
