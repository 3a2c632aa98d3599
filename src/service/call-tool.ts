import { type Activity } from '../activity.ts'
import { type ToolCall } from '../template/tool-call.ts'
import { type TracedAnswer } from '../template/trace/origin.ts'
import { type Value } from '../template/value.ts'
import { type ToolOutcome, valueForRender } from '../tool/outcome.ts'
import { type ToolCaller } from '../tool/tool-caller.ts'

/** What a render goes on with after a call, and how that came about. */
export interface ToolAnswer extends TracedAnswer {
  /** The tool's value, or what stands in for it. */
  readonly value: Value
}

/** Makes one call for a render; throws only when the render must end. */
export type CallTool = (call: ToolCall, signal: AbortSignal, requestId: string, activity?: Activity) => Promise<ToolAnswer>

/** What a call gives that was made for another render and is in memory still; `undefined` when it must be made. */
export type RecallTool = (call: ToolCall, activity?: Activity) => ToolAnswer | undefined

/** Calls of templates, under each tool's own policy. */
export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, signal, requestId, activity) => {
    return toAnswer(tool.name, await tools.call(tool, values, { signal, requestId, activity }))
  }
}

/** Spares a render the pass, the promises and the timer that a call takes which nobody has to make. */
export function recallWith (tools: ToolCaller): RecallTool {
  return (call, activity) => {
    const outcome = tools.recall(call, activity)
    return outcome === undefined ? undefined : toAnswer(call.tool.name, outcome)
  }
}

function toAnswer (name: string, answer: ToolOutcome): ToolAnswer {
  const { outcome, durationMs, error } = answer
  return { value: valueForRender(name, answer), outcome, durationMs, error: error?.code }
}
