import { type ToolCall } from '../template/run.ts'
import { type ToolOutcome } from '../tool/outcome.ts'
import { type ToolCaller } from '../tool/tool-caller.ts'

/** Makes one call for a render; never rejects. */
export type CallTool = (call: ToolCall, signal: AbortSignal, requestId: string) => Promise<ToolOutcome>

/** Calls of templates, under each tool's own policy. */
export function callWith (tools: ToolCaller): CallTool {
  return ({ tool, arguments: values }, signal, requestId) => tools.call(tool, values, { signal, requestId })
}
