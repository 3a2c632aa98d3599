import { type Caller } from '../../access/caller.ts'
import { visibleGeneration } from '../../access/generation-view.ts'
import { ServiceError } from '../../base/errors.ts'
import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { UpstreamRefusal } from '../../llm/upstream-error.ts'
import { type Generation } from '../../registry/generation.ts'
import { type ModelEffect, type ToolEffect } from '../../session/model.ts'
import { type ActiveEffect, type Outcome, type Performer } from '../../session/performer.ts'
import { type Session } from '../../session/session.ts'
import { NOTHING } from '../../template/value.ts'
import { type ToolCaller } from '../../tool/call/tool-caller.ts'
import { type CountedModels } from '../chat/counted-models.ts'
import { type EffectActivity, type SessionObserver } from './effect-activity.ts'

/** Results that are longer are cut before they are written, in UTF-16 units of their JSON. */
const MAX_RESULT = 256 * 1024

export interface PerformerOptions {
  readonly models: CountedModels
  readonly tools: Pick<ToolCaller, 'call'>
  readonly registry: { readonly generation: Generation }
  /** The holder of a token, as it is now; `undefined` when there is none of that name any more. */
  readonly callerNamed: (name: string) => Caller | undefined
  readonly observer: SessionObserver | undefined
}

/** Does what sessions ask for, as their owner is now. */
export function createPerformer ({ models, tools, registry, callerNamed, observer }: PerformerOptions): Performer {
  async function askModel ({ id, start }: Session, { messages, fields, timeout }: ModelEffect, caller: Caller, signal: AbortSignal, activity: EffectActivity | undefined): Promise<Outcome> {
    const request = { ...fields, messages } as JsonObject
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    try {
      const { value, usage } = await models.ask({ kind: 'chat', request, call: { caller, prompt: start.definition, signal: limit, requestId: id, deadline: performance.now() + timeout, activity } })
      return { kind: 'result', result: clipped(value), usage: { input: usage.inputTokens, output: usage.outputTokens } }
    } catch (error) {
      return failureOf(error, limit, timeout, Object.hasOwn(fields, 'tools'))
    }
  }

  async function callTool ({ id }: Session, { tool, arguments: given, timeout }: ToolEffect, caller: Caller, signal: AbortSignal, activity: EffectActivity | undefined): Promise<Outcome> {
    const callable = findCallable(visibleGeneration(registry.generation, caller), tool)
    if (callable === undefined) return { kind: 'failure', code: 'TOOL_NOT_FOUND', message: `there is no tool "${tool}" that can be called` }
    const limit = AbortSignal.any([signal, AbortSignal.timeout(timeout)])
    const { value, error } = await tools.call(callable, callable.mapArguments([], given), { signal: limit, requestId: id, activity, time: { deadline: performance.now() + timeout, whole: timeout } })
    // A call that failed has a fallback as its value, which is for templates.
    if (error !== undefined) return { kind: 'failure', code: error.code, message: error.message }
    return { kind: 'result', result: value === NOTHING ? null : clipped(value as Json) }
  }

  function perform (session: Session, effect: ActiveEffect, caller: Caller, signal: AbortSignal, activity: EffectActivity | undefined): Promise<Outcome> | Outcome {
    switch (effect.kind) {
      case 'llm': return askModel(session, effect, caller, signal, activity)
      case 'tool': return callTool(session, effect, caller, signal, activity)
      default: return { kind: 'failure', code: 'NOT_OFFERED', message: `nothing here does "${effect.kind}"` }
    }
  }

  return {
    async perform (session, effect, signal) {
      const caller = callerNamed(session.start.owner)
      if (caller === undefined) return { kind: 'failure', code: 'OWNER_GONE', message: `there is no token "${session.start.owner}" any more` }
      const activity = observer?.beginEffect(session, effect)
      const outcome = await perform(session, effect, caller, signal, activity)
      activity?.end(outcome.kind === 'failure' ? outcome.code : 'ok')
      return outcome
    },
    isRepeatable (effect) {
      return effect.kind === 'tool' ? isRepeatableTool(registry.generation, effect) : effect.kind !== 'exec'
    }
  }
}

function findCallable ({ tools }: Generation, id: string) {
  return tools.get(id.replaceAll(':', '.'))?.callable
}

/** A call that only reads, or says that it may be repeated, is one that its own policy repeats. */
function isRepeatableTool ({ tools }: Generation, effect: ToolEffect): boolean {
  return (tools.get(effect.tool.replaceAll(':', '.'))?.definition.policy.retries ?? 0) > 0
}

function failureOf (error: unknown, signal: AbortSignal, timeout: number, hasTools: boolean): Outcome {
  if (signal.aborted) return { kind: 'failure', code: 'TIMEOUT', message: `no answer within ${timeout} ms` }
  if (error instanceof UpstreamRefusal) return { kind: 'failure', code: hasTools && refusesTools(error) ? 'TOOLS_REFUSED' : 'LLM_REFUSED', message: error.inWords }
  if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
  return { kind: 'failure', code: 'INTERNAL', message: (error as Error).message }
}

/** No two providers say it alike: a 400 that names tools or functions. */
function refusesTools ({ inWords }: UpstreamRefusal): boolean {
  return /\b(?:tools?|tool_choice|functions?)\b/i.test(inWords)
}

function clipped (value: Json): Json {
  const text = stringifyJson(value)
  return text.length <= MAX_RESULT ? value : `${text.slice(0, MAX_RESULT)}…[truncated]`
}
