import { toolFailed } from '../../base/errors.ts'
import { markToolResult, NOTHING, type Value } from '../../template/value.ts'
import { type ToolDefinition } from '../definition/definition.ts'
import { type ToolError } from './tool-error.ts'

/** What became of one call. */
export interface ToolOutcome {
  /** The result, or what stands in for it. */
  readonly value: Value
  /** Of a result's JSON text, in UTF-16 units; 0 for what stands in for one. */
  readonly size: number
  readonly outcome: 'ok' | 'cached' | 'failed'
  /** Why it failed. */
  readonly error?: ToolError
  /** Whether the registration wants a render to end here: `onError: abort`. */
  readonly abort: boolean
  readonly durationMs: number
}

/** The value of a failed call (docs/tools.md, When a call fails). */
export function fallbackOf (definition: ToolDefinition): Value {
  return definition.policy.onError === 'empty' ? NOTHING : defaultOf(definition)
}

/** What a registration declares as the tool's value where there is no other; else nothing. */
export function defaultOf ({ fallback }: ToolDefinition): Value {
  if (fallback === undefined) return NOTHING
  markToolResult(fallback)
  return fallback
}

/**
 * The value with which a render goes on.
 * @throws TOOL_FAILED when the registration wants the render to end
 */
export function valueForRender (name: string, { value, abort, error }: ToolOutcome): Value {
  if (abort) throw toolFailed(name, error?.message ?? 'unknown')
  return value
}
