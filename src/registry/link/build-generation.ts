import { contentHash } from '../../base/json.ts'
import { type ToolDefinition } from '../../tool/definition/definition.ts'
import { chooseTools, withOffered } from '../kinds/tool/choose-tools.ts'
import { type EntryTables } from '../generation/entry-tables.ts'
import { isOffered } from '../kinds/extension/dependences.ts'
import { extensionKind } from '../kinds/extension/extension-kind.ts'
import { promptKind } from '../kinds/prompt/prompt-kind.ts'
import { toolKind } from '../kinds/tool/tool-kind.ts'
import { isDefinitionKind } from '../kinds/kind.ts'
import { DefinitionLinker } from './link-definitions.ts'
import { describeExtensions } from './describe-extensions.ts'
import { type EntryProblem } from '../entries/entry-table.ts'
import { type CallableTool, type Generation, type Prompt } from '../generation/generation.ts'
import { type ContestedKind, keyConflicts } from './key-conflicts.ts'
import { Linker, type Lookup } from './link-prompts.ts'
import { releaseKind } from '../kinds/release/release-kind.ts'
import { ReleaseLinker } from './release-linker.ts'
import { type VersionShelf } from './version-shelf.ts'
import { Claims } from './claims.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { SetHash } from './set-hash.ts'
import { createSlices, type Slices } from '../../runtime/slices.ts'

/** Makes registered tools callable, and returns what templates can call: one tool for each definition or, for an MCP server, all tools that it offers. */
export type RegisterTools = (definitions: readonly ToolDefinition[]) => readonly CallableTool[]

/** The keys whose entries have changed, by the key of their kind. */
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

/**
 * Makes each generation (an immutable snapshot of all entries) from the one before and the changes since. Objects that have not changed, and depend
 * on no change, are shared by both generations. The work is done in slices; the tables of entries must not change meanwhile.
 */
export class GenerationBuilder {
  readonly #tables: EntryTables
  readonly #registerTools: RegisterTools
  readonly #toolProblems: (id: string) => readonly string[]
  readonly #claims = new Claims<PromptEntry>()
  readonly #definitions: DefinitionLinker
  readonly #contested: readonly ContestedKind[]
  readonly #hashes: ReadonlyMap<string, SetHash>
  readonly #linker: Linker
  readonly #releases: ReleaseLinker
  #callable: ReadonlyMap<string, CallableTool> = new Map()
  #toolConflicts: readonly EntryProblem[] = []
  #keyConflicts: readonly EntryProblem[] = []
  #last: Generation

  /** @param shelf keeps the old versions of prompts that a label (`production`) stands for or another prompt names */
  constructor (tables: EntryTables, registerTools: RegisterTools, shelf: VersionShelf, toolProblems: (id: string) => readonly string[] = () => []) {
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

  /** The last generation; the first one is empty. */
  get last (): Generation {
    return this.#last
  }

  /** Reads again the versions that labels mean and that were missing in the store. @returns whether the next generation would differ */
  fillGaps (): Promise<boolean> {
    return this.#releases.fillGaps(createSlices())
  }

  /** The versions of a prompt that other prompts name with their number (`review.system@7`). */
  pinsOf (id: string): readonly number[] {
    return this.#releases.pinsOf(id)
  }

  /** Makes the next generation. @param offersChanged whether an MCP server offers other tools than before */
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

  /** The tools of the next generation, and the function names that now mean another tool than before. */
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

  /**
   * Updates which keys offer which prompts. The map `before` gets, for each affected id, the prompt that was served until now.
   * @returns whether the extensions must be described anew
   */
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

  /** The prompts of the next generation. Only those that have changed, or that depend on a change, are linked anew. */
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

/** How many members are copied before the clock is asked whether a pause is due. */
const MEMBERS_PER_LOOK = 1000

async function copyOf<T> (map: ReadonlyMap<string, T>, slices: Slices): Promise<Map<string, T>> {
  const copy = new Map<string, T>()
  for (const [key, value] of map) {
    copy.set(key, value)
    if (copy.size % MEMBERS_PER_LOOK === 0 && slices.isDue()) await slices.pause()
  }
  return copy
}

/** The prompts whose entry has changed, by id, each with its entry before the change. */
function changedAmong (
  before: ReadonlyMap<string, PromptEntry | undefined>,
  now: Pick<Claims<PromptEntry>, 'get'>
): ReadonlyMap<string, PromptEntry | undefined> {
  return new Map([...before].filter(([id, entry]) => now.get(id) !== entry))
}
