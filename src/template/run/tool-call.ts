import { canonicalJson, type Json, type JsonObject } from '../../base/json.ts'

/** A registered tool, as templates call it. */
export interface LinkedTool {
  readonly kind: 'tool'
  /** The name of the function in templates: `codebase_lookup_ref`. */
  readonly name: string
  /** The tool's id: `codebase.lookup_ref`. */
  readonly id: string
  /** Turns positional and named arguments into the tool's one object of arguments, with defaults filled in. */
  mapArguments (positional: readonly Json[], named: JsonObject): JsonObject
}

/** A tool call that a template makes. When a render makes equal calls, the tool is called only once. */
export interface ToolCall {
  readonly tool: LinkedTool
  readonly arguments: JsonObject
  /** The key of the call, made from the tool and the sorted arguments: equal calls have equal keys. */
  readonly key: string
}

/** The key of a tool call, by which equal calls are recognised. */
export function toolCallKey (id: string, values: JsonObject): string {
  return `${id} ${canonicalJson(values)}`
}
