import { type CompleteResult, type Server } from '@modelcontextprotocol/server'
import { type Json, stringifyJson } from '../../base/json.ts'
import { visibleEnvirons } from '../../access/environ-view.ts'
import { findPrompt } from '../../service/render/render-prompt.ts'
import { demandRole, inProtocol } from './mcp-errors.ts'
import { propertyOf } from './prompt-arguments.ts'
import { runnablePrompts } from '../../registry/generation/offered.ts'
import { ENVIRON_TEMPLATE, PROMPT_TEMPLATE } from './resources.ts'
import { type McpUses, type Visit } from './visit.ts'

/** The most values of one completion, which the protocol sets: https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion */
const MAX_VALUES = 100

/**
 * Answers MCP clients that ask how to complete a value: an argument of a prompt (from the schema of the prompt's parameters) or an id in the
 * URI of a resource.
 */
export function offerCompletions (server: Server, visit: Visit, { environs }: McpUses): void {
  const { generation, caller } = visit

  function candidates (
    ref: { readonly type: string, readonly name?: string, readonly uri?: string },
    argument: { readonly name: string, readonly value: string }
  ): readonly string[] {
    if (ref.type === 'ref/prompt') {
      const { parameters } = findPrompt(generation, ref.name ?? '').entry
      return parameters === undefined ? [] : valuesOf(propertyOf(parameters.schema, argument.name))
    }
    demandRole(caller, 'read')
    if (ref.uri === ENVIRON_TEMPLATE) return visibleEnvirons(environs, caller).index.page(argument.value, '', MAX_VALUES + 1)
    return ref.uri === PROMPT_TEMPLATE ? runnablePrompts(generation).map(({ id }) => id) : []
  }

  server.setRequestHandler('completion/complete', ({ params: { ref, argument } }) => inProtocol((): CompleteResult => {
    const fitting = candidates(ref, argument).filter(value => value.startsWith(argument.value))
    return { completion: { values: fitting.slice(0, MAX_VALUES), hasMore: fitting.length > MAX_VALUES } }
  }))
}

/**
 * The values that a schema lists as its `enum` or `examples`, as texts; `true` and `false` for a boolean that lists none; empty for other
 * schemas.
 */
function valuesOf (property: Readonly<Record<string, Json>>): readonly string[] {
  for (const keyword of ['enum', 'examples']) {
    const values = Object.hasOwn(property, keyword) ? property[keyword] : undefined
    if (Array.isArray(values)) return values.map((value: Json) => typeof value === 'string' ? value : stringifyJson(value))
  }
  return Object.hasOwn(property, 'type') && property['type'] === 'boolean' ? ['true', 'false'] : []
}
