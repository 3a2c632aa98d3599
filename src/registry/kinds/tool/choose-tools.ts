import { type Diagnostic, reject } from '../../diagnostic/diagnostic.ts'
import { type EntryProblem, type EntryTable } from '../../entries/entry-table.ts'
import { type CallableTool, type Tool } from '../../generation/generation.ts'
import { type ToolEntry } from './tool-entry.ts'

/**
 * Chooses the tools to offer, by id. Two tools cannot have the same function name in templates: the one with the smaller key gets it, the other one
 * is a conflict. @param problemsOf what is wrong with the tools that an MCP server offers now, by the id of its registration
 */
export function chooseTools (
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

/** The registered tools, together with those that MCP servers offer: one registration of a server brings many tools. */
export function withOffered (registered: ReadonlyMap<string, Tool>, callable: readonly CallableTool[]): Map<string, Tool> {
  const tools = new Map(registered)
  for (const tool of callable) {
    const { id, definition } = tool
    tools.set(id, { id, definition, diagnostics: registered.get(id)?.diagnostics ?? (() => []), isRegistered: registered.has(id), callable: tool })
  }
  return tools
}
