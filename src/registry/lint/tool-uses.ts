import { type Generation } from '../generation/generation.ts'
import { type ToolUse } from '../kinds/definition.ts'
import { type Diagnostic } from '../diagnostic/diagnostic.ts'
import { Effort, nearMatches } from '../diagnostic/near-matches.ts'
import { advise } from './suggestions.ts'

type Tools = Pick<Generation, 'tools' | 'definitions'>

/** The agents, skills and plan profiles that exist although nobody has registered them, as `kind/id`. */
const BUILT_IN: ReadonlySet<string> = new Set(['plans/default'])

/** The problems of the tools, agents, skills and plans that an entry names, each an error: one is not registered, or a tool lacks a given parameter. */
export function findToolProblems (uses: readonly ToolUse[], { tools, definitions }: Tools): Diagnostic[] {
  // One budget serves the search for similar names of all names together, so that the check stays cheap in a large registry.
  const effort = new Effort()
  const seen = new Set<string>()
  const found: Diagnostic[] = []
  for (const { tool, kind, parameters } of uses) {
    if (kind !== undefined) {
      const known = definitions.get(kind) ?? new Map<string, unknown>()
      if (!known.has(tool) && !BUILT_IN.has(`${kind}/${tool}`)) found.push(advise(unknownDefinition(kind, tool), nearMatches(tool, known.keys(), effort)))
      continue
    }
    const registered = tools.get(tool)
    if (registered?.callable !== undefined) found.push(...unknownParameters(tool, parameters, registered.callable.definition, effort))
    else if (!seen.has(tool)) found.push(advise(unknownTool(tool, registered !== undefined), nearMatches(tool, callableIn(tools), effort)))
    seen.add(tool)
  }
  return found
}

function unknownTool (tool: string, isServer: boolean): Diagnostic {
  return {
    severity: 'error',
    code: 'TOOL_UNKNOWN',
    message: isServer ? `"${tool}" is a whole server, and no tool itself` : `"${tool}" is no registered tool`,
    hint: 'register the tool, or correct the name'
  }
}

function unknownDefinition (kind: NonNullable<ToolUse['kind']>, id: string): Diagnostic {
  const noun = { agents: 'agent', skills: 'skill', plans: 'plan profile' }[kind]
  return { severity: 'error', code: 'DEFINITION_UNKNOWN', message: `"${id}" is no registered ${noun}`, hint: `register the ${noun}, or correct the name` }
}

function unknownParameters (
  tool: string,
  given: readonly string[],
  { parameters }: { readonly parameters: { readonly names: readonly string[], readonly schema: Readonly<Record<string, unknown>> } | undefined },
  effort: Effort
): Diagnostic[] {
  // A tool that declares no parameters accepts any, and so does one whose schema allows additional ones.
  if (parameters === undefined || (parameters.schema['additionalProperties'] ?? false) !== false) return []
  const { names } = parameters
  return given.filter(name => !names.includes(name)).map(name => advise({
    severity: 'error',
    code: 'PARAMETER_UNKNOWN',
    message: `the tool "${tool}" has no parameter "${name}"`,
    hint: 'correct the name, or what the tool declares'
  }, nearMatches(name, names, effort)))
}

function * callableIn (tools: Tools['tools']): Generator<string> {
  for (const { id, callable } of tools.values()) if (callable !== undefined) yield id
}
