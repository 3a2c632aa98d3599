import { type JsonObject } from '../base/json.ts'

/** Fields of a request that mean the same: a provider refuses a request that has both. */
const LIMITS = ['max_completion_tokens', 'max_tokens'] as const

/** Lays a caller's fields over those of a prompt. The caller's limit of tokens also replaces one that the prompt gives under the other name. */
export function mergeFields (defaults: JsonObject, fields: JsonObject): JsonObject {
  const [rival] = LIMITS.filter(name => !isThere(fields, name))
  const merged = { ...defaults, ...fields }
  if (rival === undefined || !isThere(merged, rival) || !LIMITS.some(name => isThere(fields, name))) return merged
  const { [rival]: _, ...rest } = merged
  return rest
}

/** A request without fields that providers refuse beside, or without, another: a second limit of tokens, and what is of tools or of a stream that is none. */
export function withoutConflicts (request: JsonObject): JsonObject {
  const { tools, stream } = request
  const hasTools = Array.isArray(tools) && tools.length > 0
  const wrong = [
    ...(isThere(request, LIMITS[0]) && isThere(request, LIMITS[1]) ? [LIMITS[1]] : []),
    ...(hasTools ? [] : ['tool_choice', 'parallel_tool_calls', 'tools']),
    ...(stream === true ? [] : ['stream_options'])
  ].filter(name => Object.hasOwn(request, name))
  return wrong.length === 0 ? request : Object.fromEntries(Object.entries(request).filter(([name]) => !wrong.includes(name)))
}

function isThere (request: JsonObject, name: string): boolean {
  return Object.hasOwn(request, name) && request[name] !== null
}
