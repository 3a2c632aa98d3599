import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts'

/** A registered tool, as templates see it. */
export interface LinkedTool {
  readonly kind: 'tool'
  /** The function's name in templates: `codebase_lookup_ref`. */
  readonly name: string
  /** The tool's id: `codebase.lookup_ref`. */
  readonly id: string
  /** Maps positional and named arguments to the tool's one argument object, defaults applied. */
  mapArguments (positional: readonly Json[], named: JsonObject): JsonObject
}

/** One distinct tool call that a pass has met. */
export interface ToolCall {
  readonly tool: LinkedTool
  readonly arguments: JsonObject
  /** Tool and canonical arguments: equal calls have equal keys. */
  readonly key: string
}

/** What tells distinct calls apart. */
export function toolCallKey (id: string, values: JsonObject): string {
  return `${id} ${canonicalJson(values)}`
}
