import { type ToolCall } from '../template/run.ts'
import { type Value } from '../template/value.ts'
import { valueForRender } from '../tool/outcome.ts'
import { type ToolCaller } from '../tool/tool-caller.ts'

/** Makes one call for a render: gives the tool's value or what stands in for it, and throws only when the render must end. */
export type CallTool = (call: ToolCall, signal: AbortSignal, requestId: string) => Promise<Value>

/** Calls of templates, under each tool's own policy. */
export function callWith (tools: ToolCaller): CallTool {
  return async ({ tool, arguments: values }, signal, requestId) =>
    valueForRender(tool.name, await tools.call(tool, values, { signal, requestId }))
}
