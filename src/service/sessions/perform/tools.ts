import { visibleGeneration } from '../../../access/generation-view.ts'
import { type Json } from '../../../base/json.ts'
import { type Generation } from '../../../registry/generation/generation.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { type ToolEffect } from '../../../session/model.ts'
import { toPath } from '../../../store/keys.ts'
import { NOTHING } from '../../../template/value.ts'
import { type ToolCaller } from '../../../tool/call/tool-caller.ts'
import { clipped } from './clipped.ts'
import { type Perform } from './performer.ts'

/** Makes the performer that calls registered tools for a session, but only tools that the session's owner is allowed to see. */
export function callToolsOf (registry: { readonly generation: Generation }, tools: Pick<ToolCaller, 'call'>): Perform<ToolEffect> {
  return async ({ session: { id }, effect: { id: effect, tool, arguments: given, timeout }, caller, signal, activity }) => {
    const callable = visibleGeneration(registry.generation, caller).tools.get(toPath(tool))?.callable
    if (callable === undefined) return { kind: 'failure', code: 'TOOL_NOT_FOUND', message: `there is no tool "${tool}" that can be called` }
    const time = { deadline: performance.now() + timeout, whole: timeout }
    const options = { signal: timeLimit(signal, timeout), requestId: id, idempotencyKey: `${id}:${effect}`, activity, time }
    const { value, error } = await tools.call(callable, callable.mapArguments([], given), options)
    // The value of a failed call is only a default, meant for templates: a session gets the failure.
    if (error === undefined) return { kind: 'result', result: value === NOTHING ? null : clipped(value as Json) }
    if (error.isInDoubt && !isRepeatableTool(registry.generation, tool)) return { kind: 'unknown', reason: error.message }
    return { kind: 'failure', code: error.code, message: error.message }
  }
}

/** Whether it is safe to call a tool twice, as after a crash: the tool only reads, or its registration allows that. Never for a tool that is not registered. */
export function isRepeatableTool ({ tools }: Generation, tool: string): boolean {
  return tools.get(toPath(tool))?.definition.policy.isRepeatable === true
}
