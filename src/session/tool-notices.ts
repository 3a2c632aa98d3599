import { type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { type Effect, type Fact, type Notice, type ToolEffect } from './model.ts'
import { type OpenEffect } from './session.ts'

/** How an effect can end. */
export type End = Extract<Fact, { readonly effect: string }> & { readonly kind: 'result' | 'failure' | 'unknown' | 'refused' }

/** Arguments whose JSON is longer are cut in events, in UTF-16 units. */
const MAX_ARGUMENTS = 16_000

/** Tells followers that a tool is called. @param isAgain whether another replica had called it, and may have come to its end */
export function toolCalled (effect: Effect, isAgain: boolean): Notice[] {
  return effect.kind === 'tool' ? [notice(effect, 'called', isAgain ? { isAgain } : {})] : []
}

/** Tells followers how a call of a tool has ended, or that it was not allowed. @param at in ms since 1970 */
export function toolEnded ({ effect, since }: OpenEffect, fact: End, at: number): Notice[] {
  return effect.kind === 'tool' ? [notice(effect, 'ended', { ...outcomeOf(fact), ...durationOf(since, at) })] : []
}

/** Tells followers of a call whose end nobody waits for any more. */
export function toolGivenUp ({ effect, since }: OpenEffect, at: number): Notice[] {
  return effect.kind === 'tool'
    ? [notice(effect, 'ended', {
        outcome: 'unknown',
        message: 'It was given up. Nobody knows whether it was done',
        ...durationOf(since, at)
      })]
    : []
}

function notice ({ id, name, tool, arguments: given }: ToolEffect, phase: 'called' | 'ended', more: JsonObject): Notice {
  return { type: 'tool', data: { effect: id, ...(name === undefined ? {} : { name }), tool, arguments: shown(given), phase, ...more } }
}

function outcomeOf (fact: End): JsonObject {
  switch (fact.kind) {
    case 'result': return { outcome: 'ok' }
    case 'failure': return { outcome: 'failed', code: fact.code, message: fact.message }
    case 'unknown': return { outcome: 'unknown', message: `${fact.reason ?? 'It was interrupted'}. Nobody knows whether it was done` }
    case 'refused': return { outcome: 'refused', message: fact.reason }
  }
}

/** Clocks of replicas differ. */
function durationOf (since: number | undefined, at: number): JsonObject {
  return since === undefined ? {} : { durationMs: Math.max(0, at - since) }
}

function shown (given: JsonObject): Json {
  const text = stringifyJson(given)
  return text.length <= MAX_ARGUMENTS ? given : `${text.slice(0, MAX_ARGUMENTS)}…[truncated]`
}
