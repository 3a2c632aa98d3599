import { type Kind } from '../store/keys.ts'
import { missingDependences, offersPrompts } from './dependences.ts'
import { type Diagnostic, reject } from './diagnostic.ts'
import { type EntryProblem, type EntryTable } from './entry-table.ts'
import { type CallableTool, type Extension, type Generation, type Tool } from './generation.ts'
import { type ExtensionEntry } from './extension-entry.ts'
import { linkPrompts } from './link-prompts.ts'
import { contentHash } from '../json.ts'
import { type PromptEntry } from './prompt-entry.ts'
import { type ToolDefinition } from '../tool/definition.ts'
import { type ToolEntry } from './tool-entry.ts'

/** The tables that a generation is made from. */
export interface Tables {
  readonly extensions: EntryTable<ExtensionEntry>
  readonly templates: EntryTable<PromptEntry>
  readonly tools: EntryTable<ToolEntry>
}

/** Makes tools callable; gives what templates call: one per definition or, for an MCP server, all that it offers. */
export type RegisterTools = (definitions: readonly ToolDefinition[]) => readonly CallableTool[]

/** Makes the next generation from what is in the tables now. */
export function buildGeneration (tables: Tables, registerTools: RegisterTools, number: number): Generation {
  const extensions = tables.extensions.entries()
  const templates = tables.templates.entries()
  const { tools: registered, conflicts } = chooseTools(tables.tools.entries())
  const callable = registerTools([...registered.values()].map(tool => tool.definition))
  const { prompts, shadowed } = choosePrompts(templates, extensions)
  const revisions: Record<Exclude<Kind, 'environs'>, string> = {
    extensions: contentHash(extensions.map(([key, entry]) => [key, entry.hash])),
    templates: contentHash(templates.map(([key, entry]) => [key, entry.hash])),
    tools: contentHash(tables.tools.entries().map(([key, entry]) => [key, entry.hash]))
  }
  return {
    number,
    revision: contentHash(Object.values(revisions)),
    createdAt: new Date(),
    extensions: describeExtensions(extensions, shadowed),
    prompts: linkPrompts(prompts, new Map(callable.map(tool => [tool.name, tool]))),
    tools: withOffered(registered, callable),
    conflicts,
    revisions
  }
}

/** Tools by id; of two with one function name the smallest key wins. Entries come sorted by key. */
function chooseTools (entries: ReadonlyArray<readonly [string, ToolEntry]>): { tools: Map<string, Tool>, conflicts: EntryProblem[] } {
  const owners = new Map<string, string>()
  const tools = new Map<string, Tool>()
  const conflicts: EntryProblem[] = []
  for (const [key, entry] of entries) {
    const { name } = entry.definition
    const owner = owners.get(name)
    if (owner === undefined) {
      owners.set(name, key)
      tools.set(entry.id, { id: entry.id, definition: entry.definition, diagnostics: entry.diagnostics, isRegistered: true })
    } else {
      const { diagnostics } = reject('FUNCTION_TAKEN', `its function name ${name} belongs to ${owner}`, 'give it another key')
      conflicts.push({ key, diagnostics, servesLastGood: false })
    }
  }
  return { tools, conflicts }
}

/** What can be called beside what is registered: the tools that an MCP server offers, under its registration. */
function withOffered (registered: ReadonlyMap<string, Tool>, callable: readonly CallableTool[]): Map<string, Tool> {
  const tools = new Map(registered)
  for (const tool of callable) {
    const { id, definition } = tool
    tools.set(id, { id, definition, diagnostics: registered.get(id)?.diagnostics ?? [], isRegistered: registered.has(id), callable: tool })
  }
  return tools
}

/** Prompts by id (rendering.md, Names): a direct one wins, then the extension with the smallest key. */
function choosePrompts (templates: ReadonlyArray<readonly [string, PromptEntry]>, extensions: ReadonlyArray<readonly [string, ExtensionEntry]>) {
  const prompts = new Map<string, PromptEntry>(templates.map(([, entry]) => [entry.id, entry]))
  const shadowed = new Map<string, Diagnostic[]>()
  for (const [key, extension] of extensions) {
    if (!offersPrompts(extension.definition)) continue
    for (const prompt of extension.prompts) {
      const present = prompts.get(prompt.id)
      if (present === undefined) prompts.set(prompt.id, prompt)
      else shadowed.set(key, [...shadowed.get(key) ?? [], shadowedBy(prompt.id, present.origin)])
    }
  }
  return { prompts, shadowed }
}

function shadowedBy (id: string, origin: PromptEntry['origin']): Diagnostic {
  const winner = origin === 'direct' ? 'a template of that id' : 'another extension of that name'
  return { severity: 'warning', code: 'PROMPT_SHADOWED', message: `prompt ${id} gives way to ${winner}` }
}

function describeExtensions (entries: ReadonlyArray<readonly [string, ExtensionEntry]>, shadowed: ReadonlyMap<string, readonly Diagnostic[]>): Map<string, Extension> {
  const present = entries.map(([, entry]) => entry.definition).filter(offersPrompts)
  return new Map(entries.map(([key, entry]) => {
    const missing = missingDependences(entry.definition, present)
    const degraded = missing.some(diagnostic => diagnostic.severity === 'error')
    return [entry.id, {
      id: entry.id,
      definition: entry.definition,
      state: stateOf(entry, degraded),
      diagnostics: [...entry.diagnostics, ...missing, ...shadowed.get(key) ?? []]
    }]
  }))
}

function stateOf ({ definition }: ExtensionEntry, degraded: boolean): Extension['state'] {
  if (definition.incompatibility !== undefined) return 'incompatible'
  if (definition.type !== 'prompt') return 'inactive'
  return degraded ? 'degraded' : 'active'
}
