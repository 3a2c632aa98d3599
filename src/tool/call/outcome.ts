import { toolFailed } from '../../base/errors.ts'
import { markToolResult, NOTHING, type Value } from '../../template/value.ts'
import { type ToolDefinition } from '../definition/definition.ts'
import { type ToolError } from './tool-error.ts'

/** The outcome of a call of a tool. */
export interface ToolOutcome {
  /** The result, or the value that replaces it after a failure. */
  readonly value: Value
  /** The length of the result's JSON text, in UTF-16 units; 0 after a failure. */
  readonly size: number
  readonly outcome: 'ok' | 'cached' | 'failed'
  /** The error of a failed call. */
  readonly error?: ToolError
  /** Whether a failed call has to end the render of the template, as the tool's registration says (`onError: abort`). */
  readonly abort: boolean
  readonly durationMs: number
}

/** The value that replaces the result of a failed call (docs/tools.md, When a call fails). */
export function fallbackOf (definition: ToolDefinition): Value {
  return definition.policy.onError === 'empty' ? NOTHING : defaultOf(definition)
}

/** The default value that a tool's registration declares; `NOTHING` when it declares none. */
export function defaultOf ({ fallback }: ToolDefinition): Value {
  if (fallback === undefined) return NOTHING
  markToolResult(fallback)
  return fallback
}

/** Gives the value with which the render of a template continues after a call. @throws TOOL_FAILED when the tool's registration wants the render to end */
export function valueForRender (name: string, { value, abort, error }: ToolOutcome): Value {
  if (abort) throw toolFailed(name, error?.message ?? 'unknown')
  return value
}
