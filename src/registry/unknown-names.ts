import type { Diagnostic } from './diagnostic.ts'
import type { EntryProblem } from './entries/entry-table.ts'
import type { FindRejected, Generation, Prompt, RequestedName } from './generation.ts'
import type { ToolUse } from './kinds/entry-kind.ts'
import { extensionKind } from './kinds/extension-kind.ts'
import { promptKind } from './kinds/prompt-kind.ts'
import { toolKind } from './kinds/tool-kind.ts'
import { Effort, likelyMatches, nearMatches } from '../base/near-matches.ts'

/** The caller who reads the hints must be allowed to know these names. */
export interface KnownNames extends Pick<Generation, 'tools'> {
  readonly prompts: { keys (): Iterable<string> }
  readonly environs: Iterable<string>
  readonly parameters: Iterable<string>
}

export type Unanswered = RequestedName | { readonly kind: 'environs' | 'parameters', readonly name: string }

export class Suggestions {
  readonly #id: string
  readonly #known: KnownNames
  /** For all names of the prompt together, so that the check stays cheap in a large registry. */
  readonly #effort = new Effort()

  constructor (id: string, known: KnownNames) {
    this.#id = id
    this.#known = known
  }

  of (unanswered: readonly Unanswered[]): readonly string[] {
    return [...new Set(unanswered.flatMap(({ kind, name }) => likelyMatches(name, this.#others(kind), this.#effort)))]
  }

  * #others (kind: Unanswered['kind']): Generator<string> {
    for (const name of this.#allOf(kind)) if (kind !== 'templates' || name !== this.#id) yield name
  }

  #allOf (kind: Unanswered['kind']): Iterable<string> {
    const { prompts, tools, environs, parameters } = this.#known
    switch (kind) {
      case 'templates': return prompts.keys()
      case 'tools': return functionsOf(tools)
      case 'environs': return environs
      case 'parameters': return parameters
    }
  }
}

function * functionsOf (tools: KnownNames['tools']): Generator<string> {
  for (const { callable } of tools.values()) if (callable !== undefined) yield callable.name
}

export function advise (diagnostic: Diagnostic, near: readonly string[], otherwise = diagnostic.hint): Diagnostic {
  return near.length === 0 ? diagnostic : { ...diagnostic, hint: `write ${near.join(' or ')}, if that is what you mean; else ${otherwise}` }
}

/** A template can use a very long name. */
const MAX_SEGMENTS = 32

/** Looked up at each call: callers may see different rejected entries, and a rejection makes no prompt be linked again. */
export function diagnosticsOf (
  { diagnostics, unfound }: Pick<Prompt, 'diagnostics' | 'unfound'>,
  findRejected: FindRejected,
  near?: Suggestions
): readonly Diagnostic[] {
  if (unfound.size === 0) return diagnostics
  return diagnostics.map(diagnostic => {
    const wanted = unfound.get(diagnostic) ?? []
    const [rejected] = wanted.flatMap(({ kind, name }) => (kind === 'tools' ? findRejected(toolKind, name) : rejectedPrompt(name, findRejected)) ?? [])
    if (rejected === undefined) return advise(diagnostic, near?.of(wanted) ?? [])
    const message = `${diagnostic.message} (what is stored under ${rejected.key} could not be loaded)`
    return { ...diagnostic, message, hint: 'correct what is stored there: GET /api/status/entries says what is wrong with it' }
  })
}

/** The prompt itself, or the extension with whose name the dotted id begins. */
export function rejectedPrompt (id: string, findRejected: FindRejected): EntryProblem | undefined {
  return [findRejected(promptKind, id), ...namesAbove(id).map(name => findRejected(extensionKind, name))].find(problem => problem !== undefined)
}

/** Longest first: `a.b` and `a` for `a.b.c`; none for a name deeper than any key. */
export function namesAbove (name: string): readonly string[] {
  const segments = name.split('.', MAX_SEGMENTS + 1)
  if (segments.length > MAX_SEGMENTS) return []
  return segments.slice(1).map((_, index) => segments.slice(0, segments.length - 1 - index).join('.'))
}

type ToolNames = Pick<Generation, 'tools' | 'definitions'>

/** Nobody has registered them; `kind/id`. */
const BUILT_IN: ReadonlySet<string> = new Set(['plans/default'])

export function findToolProblems (uses: readonly ToolUse[], { tools, definitions }: ToolNames): Diagnostic[] {
  // One for all names together, so that the check stays cheap in a large registry.
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
  // A tool without declared parameters accepts any, as does a schema that allows more.
  if (parameters === undefined || (parameters.schema['additionalProperties'] ?? false) !== false) return []
  const { names } = parameters
  return given.filter(name => !names.includes(name)).map(name => advise({
    severity: 'error',
    code: 'PARAMETER_UNKNOWN',
    message: `the tool "${tool}" has no parameter "${name}"`,
    hint: 'correct the name, or what the tool declares'
  }, nearMatches(name, names, effort)))
}

function * callableIn (tools: ToolNames['tools']): Generator<string> {
  for (const { id, callable } of tools.values()) if (callable !== undefined) yield id
}
