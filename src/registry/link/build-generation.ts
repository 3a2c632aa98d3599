import { contentHash } from '../../base/json.ts'
import { type Kind } from '../../store/keys.ts'
import { type ToolDefinition } from '../../tool/definition/definition.ts'
import { chooseTools, withOffered } from '../kinds/tool/choose-tools.ts'
import { offersPrompts } from '../kinds/extension/dependences.ts'
import { describeExtensions } from '../kinds/extension/describe-extensions.ts'
import { type EntryProblem, type EntryTable } from '../entries/entry-table.ts'
import { type ExtensionEntry } from '../kinds/extension/extension-entry.ts'
import { type CallableTool, type Generation, type Prompt } from '../generation.ts'
import { keyConflicts } from './key-conflicts.ts'
import { Linker, type Lookup } from './link-prompts.ts'
import { PromptClaims } from '../kinds/prompt/prompt-claims.ts'
import { type PromptEntry } from '../kinds/prompt/prompt-entry.ts'
import { SetHash } from './set-hash.ts'
import { createSlices, type Slices } from '../../runtime/slices.ts'
import { type ToolEntry } from '../kinds/tool/tool-entry.ts'

/** The tables that a generation is made from. */
export interface Tables {
  readonly extensions: EntryTable<ExtensionEntry>
  readonly templates: EntryTable<PromptEntry>
  readonly tools: EntryTable<ToolEntry>
}

/** Makes tools callable; gives what templates call: one per definition or, for an MCP server, all that it offers. */
export type RegisterTools = (definitions: readonly ToolDefinition[]) => readonly CallableTool[]

type Changed = Readonly<Record<keyof Tables, ReadonlySet<string>>>

const EMPTY: Omit<Generation, 'findRejected'> = {
  number: 0,
  revision: contentHash([]),
  extensions: new Map(),
  prompts: new Map(),
  everyPrompt: new Map(),
  tools: new Map(),
  conflicts: [],
  revisions: { extensions: contentHash([]), templates: contentHash([]), tools: contentHash([]) }
}

/**
 * Makes generations, each from the one before and what has changed since: what did not change, and does not depend on what
 * did, is the same object in both. In slices: the tables must not change while one is made.
 */
export class GenerationBuilder {
  readonly #tables: Tables
  readonly #registerTools: RegisterTools
  readonly #claims = new PromptClaims()
  readonly #hashes: Readonly<Record<Exclude<Kind, 'environs'>, SetHash>> = { extensions: new SetHash(), templates: new SetHash(), tools: new SetHash() }
  readonly #linker: Linker
  #callable: ReadonlyMap<string, CallableTool> = new Map()
  #toolConflicts: readonly EntryProblem[] = []
  #keyConflicts: readonly EntryProblem[] = []
  #last: Generation

  constructor (tables: Tables, registerTools: RegisterTools) {
    this.#tables = tables
    this.#last = { ...EMPTY, findRejected: (kind, name) => tables[kind].problemOf(name) }
    this.#registerTools = registerTools
    this.#linker = new Linker(this.#claims, { get: name => this.#callable.get(name) })
  }

  /** The last generation; the first one is empty. */
  get last (): Generation {
    return this.#last
  }

  /** Makes the next generation. @param offersChanged whether a tool server offers other tools than before */
  async build (offersChanged: boolean): Promise<Generation> {
    const slices = createSlices()
    const changed: Changed = {
      extensions: this.#tables.extensions.takeChanged(),
      templates: this.#tables.templates.takeChanged(),
      tools: this.#tables.tools.takeChanged()
    }
    await this.#updateHashes(changed, slices)
    const { tools, names } = this.#nextTools(changed.tools.size > 0 || offersChanged)
    const before = new Map<string, PromptEntry | undefined>()
    const contested = await this.#updateClaims(changed, before, slices)
    const prompts = await this.#nextPrompts(before, names, slices)
    if (contested) this.#keyConflicts = keyConflicts(this.#claims)
    const conflicts = [...this.#toolConflicts, ...this.#keyConflicts]
    const extensions = contested ? await describeExtensions(this.#tables.extensions, this.#claims, slices) : this.#last.extensions
    const revisions = { extensions: this.#hashes.extensions.digest(), templates: this.#hashes.templates.digest(), tools: this.#hashes.tools.digest() }
    this.#last = { ...this.#last, number: this.#last.number + 1, revision: contentHash(Object.values(revisions)), extensions, prompts, everyPrompt: prompts, tools, conflicts, revisions }
    return this.#last
  }

  async #updateHashes (changed: Changed, slices: Slices): Promise<void> {
    for (const kind of ['extensions', 'templates', 'tools'] as const) {
      for (const key of changed[kind]) {
        this.#hashes[kind].set(key, this.#tables[kind].entry(key)?.hash)
        if (slices.isDue()) await slices.pause()
      }
    }
  }

  /** The tools, and the function names that stand for another tool than before. */
  #nextTools (isDue: boolean): Pick<Generation, 'tools'> & { names: readonly string[] } {
    if (!isDue) return { tools: this.#last.tools, names: [] }
    const { tools, conflicts } = chooseTools(this.#tables.tools)
    this.#toolConflicts = conflicts
    const callable = this.#registerTools(Array.from(tools.values(), tool => tool.definition))
    const before = this.#callable
    this.#callable = new Map(callable.map(tool => [tool.name, tool]))
    const names = [...new Set([...before.keys(), ...this.#callable.keys()])].filter(name => before.get(name) !== this.#callable.get(name))
    return { tools: withOffered(tools, callable), names }
  }

  /**
   * Takes what the changed entries offer. Notes in `before` who offered the prompts that this concerns; gives whether the
   * extensions must be described anew.
   */
  async #updateClaims (changed: Changed, before: Map<string, PromptEntry | undefined>, slices: Slices): Promise<boolean> {
    const { extensions, templates } = this.#tables
    let contested = changed.extensions.size > 0
    const take = (key: string, prompts: readonly PromptEntry[]): void => {
      for (const id of [...this.#claims.offeredBy(key), ...prompts.map(prompt => prompt.id)]) if (!before.has(id)) before.set(id, this.#claims.get(id))
      contested = this.#claims.set(key, prompts) || contested
    }
    for (const key of changed.templates) {
      const entry = templates.entry(key)
      take(key, entry === undefined ? [] : [entry])
      if (slices.isDue()) await slices.pause()
    }
    for (const key of changed.extensions) {
      const entry = extensions.entry(key)
      take(key, entry === undefined || !offersPrompts(entry.definition) ? [] : entry.prompts)
      if (slices.isDue()) await slices.pause()
    }
    return contested
  }

  /** The prompts, of which those are linked anew that have changed or depend on what has. */
  async #nextPrompts (before: ReadonlyMap<string, PromptEntry | undefined>, tools: readonly string[], slices: Slices): Promise<ReadonlyMap<string, Prompt>> {
    const ids = new Set<string>()
    const names = tools.map((name): Lookup => `tool ${name}`)
    for (const [id, entry] of before) {
      if (this.#claims.get(id) === entry) continue
      ids.add(id)
      names.push(`prompt ${id}`)
      if (entry !== undefined) this.#linker.drop(entry)
      if (slices.isDue()) await slices.pause()
    }
    if (names.length === 0) return this.#last.prompts
    for (const { id } of await this.#linker.forget(names, slices)) ids.add(id)
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

/** How many members are copied between two looks at the clock. */
const MEMBERS_PER_LOOK = 1000

async function copyOf<T> (map: ReadonlyMap<string, T>, slices: Slices): Promise<Map<string, T>> {
  const copy = new Map<string, T>()
  for (const [key, value] of map) {
    copy.set(key, value)
    if (copy.size % MEMBERS_PER_LOOK === 0 && slices.isDue()) await slices.pause()
  }
  return copy
}
