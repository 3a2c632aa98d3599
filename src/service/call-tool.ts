import { type Activity } from '../activity.ts'
import { type ToolCall } from '../template/run.ts'
import { type TracedAnswer } from '../template/trace/origin.ts'
import { type Value } from '../template/value.ts'
import { valueForRender } from '../tool/outcome.ts'
import { type ToolCaller } from '../tool/tool-caller.ts'

/** What a render goes on with after a call, and how that came about. */
export interface ToolAnswer extends TracedAnswer {
  /** The tool's value, or what stands in for it. */
  readonly value: Value
}

/** Makes one call for a render; throws only when the render must end. */
export type CallTool = (call: ToolCall, signal: AbortSignal, requestId: string, activity?: Activity) => Promise<ToolAnswer>

/** Calls of templates, under each tool's own policy. */
export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, signal, requestId, activity) => {
    const answer = await tools.call(tool, values, { signal, requestId, activity })
    const { outcome, durationMs, error } = answer
    return { value: valueForRender(tool.name, answer), outcome, durationMs, ...(error === undefined ? {} : { error: error.code }) }
  }
}
