import { contentHash } from '../../base/json.ts'
import { withArticle } from '../../base/text.ts'
import { createSlices, type Slices } from '../../runtime/event-loop.ts'
import type { ToolDefinition } from '../../tool/definition.ts'
import { type Diagnostic, reject, shadowed } from '../diagnostic.ts'
import type { EntryTables } from '../entries/entries.ts'
import type { EntryProblem, EntryTable } from '../entries/entry-table.ts'
import type { CallableTool, Extension, Generation, Prompt, PromptRelease, Tool } from '../generation.ts'
import { type Definition, type DefinitionKind, isDefinitionKind } from '../kinds/entry-kind.ts'
import { type ExtensionDefinition, type ExtensionEntry, extensionKind, isOffered, missingDependences } from '../kinds/extension-kind.ts'
import { type PromptEntry, promptKind } from '../kinds/prompt-kind.ts'
import { releaseKind } from '../kinds/release-kind.ts'
import { type ToolEntry, toolKind } from '../kinds/tool-kind.ts'
import { LazyMap } from '../lazy-map.ts'
import { Linker } from './link-prompts.ts'
import type { PromptNames, VersionedNames } from './versions.ts'

export type RegisterTools = (definitions: readonly ToolDefinition[]) => readonly CallableTool[]

/** Makes a generation of what the tables hold; what no change concerns is shared with the last one. Works in slices; the tables must not change meanwhile. */
export class GenerationBuilder {
  readonly #tables: EntryTables
  readonly #registerTools: RegisterTools
  readonly #toolProblems: (id: string) => readonly string[]
  readonly #versions: VersionedNames
  readonly #owners = new Map<string, Owners>()
  #toolConflicts: readonly EntryProblem[] = []
  #last: Generation

  constructor (tables: EntryTables, registerTools: RegisterTools, versions: VersionedNames, toolProblems: (id: string) => readonly string[] = () => []) {
    const byKey = new Map(Array.from(tables.kinds, kind => [kind.key, tables.of(kind)]))
    this.#tables = tables
    this.#registerTools = registerTools
    this.#toolProblems = toolProblems
    this.#versions = versions
    this.#last = {
      number: 0,
      revision: contentHash([]),
      extensions: new Map(),
      names: versions.last,
      ...linked(versions.last, new Map()),
      tools: new Map(),
      functions: new Map(),
      definitions: new Map(),
      conflicts: [],
      revisions: this.#revisions(),
      findRejected: (kind, name) => byKey.get(kind.key)?.problemOf(name)
    }
  }

  get last (): Generation {
    return this.#last
  }

  /** `offersChanged`: an MCP server offers other tools than before. */
  async build (offersChanged: boolean): Promise<Generation> {
    const slices = createSlices()
    const last = this.#last
    const changed = new Set([...this.#tables.kinds].filter(kind => this.#tables.of(kind).takeChanged()))
    const toolsChanged = changed.has(toolKind) || offersChanged
    const { tools, functions } = toolsChanged ? this.#nextTools() : last
    const wasContested = this.#contested.length > 0
    for (const kind of [promptKind, ...[...this.#tables.kinds].filter(isDefinitionKind)]) {
      if (changed.has(kind) || changed.has(extensionKind)) this.#owners.set(kind.key, await this.#ownersOf(kind, slices))
    }
    const prompts = (this.#owners.get(promptKind.key)?.byId ?? new Map()) as ReadonlyMap<string, PromptEntry>
    const namesChanged = prompts !== last.names.owners || changed.has(releaseKind) || this.#versions.hasNews
    const names = namesChanged ? await this.#versions.next(prompts, changed.has(releaseKind), slices) : last.names
    const contested = this.#contested
    const describesAnew = changed.has(extensionKind) || wasContested || contested.length > 0
    const definitions = [...this.#owners].filter(([key]) => key !== promptKind.key)
    const revisions = this.#revisions()
    this.#last = {
      ...last,
      number: last.number + 1,
      revision: contentHash([...revisions.values()]),
      extensions: describesAnew ? await describeExtensions(this.#tables.of(extensionKind), contested, slices) : last.extensions,
      names,
      ...namesChanged || toolsChanged ? linked(names, functions) : undefined,
      tools,
      functions,
      definitions: new Map(definitions.map(([key, { byId }]) => [key, byId as ReadonlyMap<string, Definition>])),
      conflicts: [...this.#toolConflicts, ...contested.flatMap(keyConflict), ...this.#versions.problems],
      revisions
    }
    return this.#last
  }

  get #contested (): readonly ContestedId[] {
    return [...this.#owners.values()].flatMap(({ contested }) => contested)
  }

  #revisions (): ReadonlyMap<string, string> {
    return new Map(Array.from(this.#tables.kinds, kind => [kind.key, this.#tables.of(kind).revision()]))
  }

  #nextTools (): Pick<Generation, 'tools' | 'functions'> {
    const { tools, conflicts } = chooseTools(this.#tables.of(toolKind), this.#toolProblems)
    this.#toolConflicts = conflicts
    const callable = this.#registerTools(Array.from(tools.values(), tool => tool.definition))
    return { tools: withOffered(tools, callable), functions: new Map(callable.map(tool => [tool.name, tool])) }
  }

  #ownersOf (kind: typeof promptKind | DefinitionKind, slices: Slices): Promise<Owners> {
    const isPrompts = kind.key === promptKind.key
    const offered = [...this.#tables.of(extensionKind).entries()].filter(([, { definition }]) => isOffered(definition))
    const brought = offered.flatMap(([key, { prompts, definitions }]) => {
      return (isPrompts ? prompts : definitions.get(kind.key) ?? []).map(offer => [key, offer] as const)
    })
    return ownersOf(this.#tables.of<OwnedEntry>(kind), brought, { name: kind.name, noun: kind.noun, direct: isPrompts ? 'template' : kind.noun }, slices)
  }
}

/** Prompts are linked when they are first asked for. */
function linked (names: PromptNames, functions: ReadonlyMap<string, CallableTool>): Pick<Generation, 'prompts' | 'everyPrompt' | 'releases'> {
  const linkers = new Map<string | undefined, Linker>()
  const link = (entry: PromptEntry, label?: string): Prompt => {
    const linker = linkers.get(label) ?? new Linker(name => names.find(name, label), functions)
    linkers.set(label, linker)
    return linker.link(entry, label)
  }
  const prompts = new LazyMap(names.owners, entry => link(entry))
  const releases = new LazyMap(names.labelled, ({ record: { record, hash }, labels }, id): PromptRelease => ({
    id,
    record,
    hash,
    latest: record.versions.find(({ tag }) => tag === names.owners.get(id)?.hash)?.n,
    labels: new LazyMap(labels, (shares, label) => shares.map(({ version, weight, entry }) => ({ version, weight, prompt: link(entry, label) })))
  }))
  return { prompts, everyPrompt: prompts, releases }
}

type OwnedEntry = Pick<PromptEntry, 'id' | 'origin' | 'hash'>

/** An extension's key makes one claim for each entry that it brings. */
type Claim = readonly [key: string, offer: OwnedEntry]

interface ContestedId {
  readonly words: { readonly name: string, readonly noun: string, readonly direct: string }
  readonly winner: Claim
  readonly loser: Claim
}

interface Owners {
  readonly byId: ReadonlyMap<string, OwnedEntry>
  readonly contested: readonly ContestedId[]
}

/** Entries taken before the clock is asked whether a pause is due, since each change looks at all of them. */
const ENTRIES_PER_LOOK = 1000

/** Of several keys for one id, an entry with a key of its own wins, otherwise the extension with the smallest key. */
async function ownersOf (own: EntryTable<OwnedEntry>, brought: readonly Claim[], words: ContestedId['words'], slices: Slices): Promise<Owners> {
  const byId = new Map<string, OwnedEntry>()
  const rivals = new Map<string, Claim[]>()
  let looked = 0
  for (const claims of [own.entries(), brought]) {
    for (const [, offer] of claims) {
      if (byId.has(offer.id)) rivals.set(offer.id, [])
      else byId.set(offer.id, offer)
      if (++looked % ENTRIES_PER_LOOK === 0 && slices.isDue()) await slices.pause()
    }
  }
  if (rivals.size === 0) return { byId, contested: [] }
  for (const claims of [own.entries(), brought]) for (const claim of claims) rivals.get(claim[1].id)?.push(claim)
  const contested = [...rivals.values()].flatMap(all => {
    const [winner, ...losers] = all.sort(byPrecedence) as [Claim, ...Claim[]]
    byId.set(winner[1].id, winner[1])
    return losers.map(loser => ({ words, winner, loser }))
  })
  return { byId, contested }
}

/** Two own keys can have one id, when they differ only in `.` and `:`; the larger key wins. */
function byPrecedence ([key, { origin }]: Claim, [otherKey, other]: Claim): number {
  if (origin !== other.origin) return origin === 'direct' ? -1 : 1
  if (key === otherKey) return 0
  return (key < otherKey) === (origin === 'extension') ? -1 : 1
}

/** Of two tools with one function name the smaller key wins, the other is a conflict. */
function chooseTools (
  table: EntryTable<ToolEntry>,
  problemsOf: (id: string) => readonly string[]
): { tools: Map<string, Tool>, conflicts: EntryProblem[] } {
  const owners = new Map<string, string>()
  const tools = new Map<string, Tool>()
  const conflicts: EntryProblem[] = []
  for (const [key, entry] of [...table.entries()].sort(([one], [other]) => one < other ? -1 : 1)) {
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
  contested: readonly ContestedId[],
  slices: Slices
): Promise<Map<string, Extension>> {
  const shadowedBy = shadowedByKey(contested)
  const present = new Map<string, ExtensionDefinition[]>()
  const entries = [...table.entries()].sort(([one], [other]) => one < other ? -1 : 1)
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

function shadowedByKey (contested: readonly ContestedId[]): ReadonlyMap<string, readonly Diagnostic[]> {
  const byKey = new Map<string, Diagnostic[]>()
  for (const { words, winner: [winnersKey, winner], loser: [key, { id, origin }] } of contested) {
    if (origin !== 'extension') continue
    const extension = winnersKey === key ? 'the one before it' : 'another extension of that name'
    const by = winner.origin === 'direct' ? `${withArticle(words.direct)} of that id` : extension
    byKey.set(key, [...byKey.get(key) ?? [], shadowed(words, id, by)])
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

function keyConflict ({ winner: [winnersKey], loser: [key, { id, origin }] }: ContestedId): EntryProblem[] {
  if (origin !== 'direct') return []
  return [{ key, diagnostics: reject('KEY_TAKEN', `its id ${id} is that of ${winnersKey}, which is served in its place`).diagnostics, servesLastGood: false }]
}
