import { visibleGeneration } from '../../../access/generation-view.ts'
import { type Json } from '../../../base/json.ts'
import { type Generation } from '../../../registry/generation.ts'
import { type ToolEffect } from '../../../session/model.ts'
import { NOTHING } from '../../../template/value.ts'
import { type ToolCaller } from '../../../tool/call/tool-caller.ts'
import { clipped } from './clipped.ts'
import { type Perform } from './performing.ts'

/** Calls registered tools for sessions, as their owners see them. */
export function callRegisteredTool (tools: Pick<ToolCaller, 'call'>, registry: { readonly generation: Generation }): Perform<ToolEffect> {
  return async ({ session: { id }, effect: { tool, arguments: given, timeout }, caller, signal, activity }) => {
    const callable = visibleGeneration(registry.generation, caller).tools.get(pathOf(tool))?.callable
    if (callable === undefined) return { kind: 'failure', code: 'TOOL_NOT_FOUND', message: `there is no tool "${tool}" that can be called` }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    const { value, error } = await tools.call(callable, callable.mapArguments([], given), { signal: limit, requestId: id, activity, time: { deadline: performance.now() + timeout, whole: timeout } })
    // A call that failed has a fallback as its value, which is for templates.
    if (error !== undefined) return error.isInDoubt && !isRepeatableTool(registry.generation, tool) ? { kind: 'unknown', reason: error.message } : { kind: 'failure', code: error.code, message: error.message }
    return { kind: 'result', result: value === NOTHING ? null : clipped(value as Json) }
  }
}

/** Whether a tool only reads, or says that it may be called twice; of one that is gone nobody knows. */
export function isRepeatableTool ({ tools }: Generation, tool: string): boolean {
  return tools.get(pathOf(tool))?.definition.policy.isRepeatable === true
}

function pathOf (tool: string): string {
  return tool.replaceAll(':', '.')
}
