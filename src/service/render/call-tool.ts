import { type Activity } from '../../runtime/activity.ts'
import { type ToolCall } from '../../template/run/tool-call.ts'
import { type TracedAnswer } from '../../template/explain/origin.ts'
import { type Value } from '../../template/value.ts'
import { type ToolOutcome, valueForRender } from '../../tool/call/outcome.ts'
import { type CallOptions } from '../../tool/call/registered-tool.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'

/** How long the results of all tools in one render, or in one chat, may be together, in UTF-16 units of JSON. Each of a hundred calls could give 1 MiB. */
export const MAX_RESULTS_SIZE = 8 * 1024 * 1024

/** The value with which a render goes on after a call of a tool, and where the value came from. */
export interface ToolAnswer extends TracedAnswer {
  /** The tool's value, or what stands in for it. */
  readonly value: Value
  /** The size of the tool's result, as in `ToolOutcome`; left out when no tool was asked. */
  readonly size?: number
}

/** Makes one call for a render; throws only when the render must end. */
export type CallTool = (call: ToolCall, options: CallOptions) => Promise<ToolAnswer>

/** Looks a call up in the cache. Gives the answer that another render got; `undefined` when the call must be made. */
export type RecallTool = (call: ToolCall, activity?: Activity) => ToolAnswer | undefined

/** Makes the function that calls tools for templates, under each tool's own policy. */
export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, options) => toAnswer(tool.name, await tools.call(tool, values, options))
}

/** Makes the function that looks calls up in the cache. A cached answer spares a render a pass, promises and a timer. */
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
