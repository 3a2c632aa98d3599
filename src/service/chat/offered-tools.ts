import { type CallableTool } from '../../registry/generation/generation.ts'
import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { modelNames } from '../../tool/definition/own-names.ts'

/** The registered tools that a chat lets its model call, as functions of OpenAI's API. */
export interface OfferedTools {
  /** The `tools` of the request to the model: first the functions that the caller or the prompt's defaults declare, then the registered tools. */
  readonly declarations: readonly Json[]
  /** The registered tools that the service calls for the model, by the name of the function that the model knows. */
  readonly byName: ReadonlyMap<string, CallableTool>
  /** The names of the functions that the request itself declares. When the model calls one of them, the caller has to answer the call. */
  readonly others: ReadonlySet<unknown>
  /** The most times that the model is asked in one chat. */
  readonly maxTurns: number
}

/**
 * Offers registered tools to a model as functions, beside those that the request declares. A function of the request with a tool's own name takes its
 * place; tools whose names become one for a model get names of their own.
 * @returns `undefined` when there is no tool to offer
 */
export function offerTools (tools: readonly CallableTool[], request: JsonObject, maxTurns: number): OfferedTools | undefined {
  const given = Array.isArray(request['tools']) ? request['tools'] as readonly Json[] : []
  const others = new Set(given.map(nameOfFunction))
  const names = modelNames(tools.map(({ name }) => name).filter(name => !others.has(name)), others)
  const byName = new Map(tools.flatMap(tool => names.has(tool.name) ? [[names.get(tool.name) as string, tool]] : []))
  if (byName.size === 0) return undefined
  return { declarations: [...given, ...Array.from(byName, ([name, tool]) => declare(name, tool))], byName, others, maxTurns }
}

function declare (name: string, { definition }: CallableTool): JsonObject {
  const { description, parameters } = definition
  return { type: 'function', function: { name, description, parameters: parameters?.schema ?? { type: 'object' } } }
}

function nameOfFunction (declaration: Json): Json | undefined {
  const declared = isJsonObject(declaration) ? declaration['function'] : null
  return isJsonObject(declared) ? declared['name'] : undefined
}
