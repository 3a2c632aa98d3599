import { type Activity } from '../../runtime/activity.ts'
import { type ToolCall } from '../../template/run/tool-call.ts'
import { type TracedAnswer } from '../../template/explain/origin.ts'
import { type Value } from '../../template/value.ts'
import { type ToolOutcome, valueForRender } from '../../tool/call/outcome.ts'
import { type CallOptions } from '../../tool/call/registered-tool.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'

/** The largest size of all tool results of one render or one chat together, in UTF-16 units of JSON: each of its hundred calls could give 1 MiB. */
export const MAX_RESULTS_SIZE = 8 * 1024 * 1024

/** The result of a tool call as a render uses it, and where the value came from. */
export interface ToolAnswer extends TracedAnswer {
  /** The tool's result or, after a failure, the default in its place. */
  readonly value: Value
  /** The size of the result, as in `ToolOutcome`; left out when no tool was called. */
  readonly size?: number
}

/** Calls a tool for a render. It throws only when the render must end; any other failed call gives the default from the tool's registration. */
export type CallTool = (call: ToolCall, options: CallOptions) => Promise<ToolAnswer>

/** Looks for the result of an equal call in the cache; `undefined` if the tool must be called. */
export type RecallTool = (call: ToolCall, activity?: Activity) => ToolAnswer | undefined

/** Makes the function that calls tools for templates, each within its own limits (slots, timeout, retries). */
export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, options) => toAnswer(tool.name, await tools.call(tool, values, options))
}

/** Makes the function that looks for results of tool calls in the cache. For a result that is found, the render needs no further pass over its templates. */
export function recallWith (tools: ToolCaller): RecallTool {
  return (call, activity) => {
    const outcome = tools.recall(call, activity)
    return outcome === undefined ? undefined : toAnswer(call.tool.name, outcome)
  }
}

function toAnswer (name: string, answer: ToolOutcome): ToolAnswer {
  const { outcome, durationMs, size, error } = answer
  return { value: valueForRender(name, answer), size, outcome, durationMs, error: error?.code }
}
