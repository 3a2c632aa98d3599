import { type Activity } from '../../runtime/activity.ts'
import { type ToolCall } from '../../template/run/tool-call.ts'
import { type TracedAnswer } from '../../template/explain/origin.ts'
import { type Value } from '../../template/value.ts'
import { type ToolOutcome, valueForRender } from '../../tool/call/outcome.ts'
import { type CallOptions } from '../../tool/call/registered-tool.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'

/** What the tools of one render, or of one chat, may give together, in UTF-16 units of JSON: a hundred calls may give 1 MiB each. */
export const MAX_RESULTS_SIZE = 8 * 1024 * 1024

/** What a render goes on with after a call, and how that came about. */
export interface ToolAnswer extends TracedAnswer {
  /** The tool's value, or what stands in for it. */
  readonly value: Value
  /** Of a tool's result, as `ToolOutcome` has it; left out where no tool was asked. */
  readonly size?: number
}

/** Makes one call for a render; throws only when the render must end. */
export type CallTool = (call: ToolCall, options: CallOptions) => Promise<ToolAnswer>

/** What a call gives that was made for another render and is in memory still; `undefined` when it must be made. */
export type RecallTool = (call: ToolCall, activity?: Activity) => ToolAnswer | undefined

/** Calls of templates, under each tool's own policy. */
export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, options) => toAnswer(tool.name, await tools.call(tool, values, options))
}

/** Spares a render the pass, the promises and the timer that a call takes which nobody has to make. */
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
