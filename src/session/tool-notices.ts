import { type Json, type JsonObject, stringifyJson } from '../base/json.ts'
import { type Effect, type Fact, type Notice, type ToolEffect } from './model.ts'
import { type OpenEffect } from './session.ts'

/** A fact (what happened to a session) that says how an effect, such as a tool call, ended. */
export type End = Extract<Fact, { readonly effect: string }> & { readonly kind: 'result' | 'failure' | 'unknown' | 'refused' }

/** The largest JSON of a tool call's arguments in an event, in UTF-16 units; a longer one is cut. */
const MAX_ARGUMENTS = 16_000

/**
 * The notice (an event for a session's followers) that a tool is called; empty for an effect that calls no tool.
 * @param isAgain whether the call was begun once before, and was perhaps completed then
 */
export function toolCalled (effect: Effect, isAgain: boolean): Notice[] {
  return effect.kind === 'tool' ? [notice(effect, 'called', isAgain ? { isAgain } : {})] : []
}

/**
 * The notice (an event for a session's followers) of how a tool call ended, or that it was refused; empty for an effect that calls no tool.
 * @param at when the call ended, in ms since 1970
 */
export function toolEnded ({ effect, since }: OpenEffect, fact: End, at: number): Notice[] {
  return effect.kind === 'tool' ? [notice(effect, 'ended', { ...outcomeOf(fact), ...durationOf(since, at) })] : []
}

/** The notice (an event for a session's followers) that a running tool call was aborted with its session; empty for an effect that calls no tool. */
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

/** The duration of a tool call, in ms. It is never negative, even when begin and end come from the clocks of two replicas. */
function durationOf (since: number | undefined, at: number): JsonObject {
  return since === undefined ? {} : { durationMs: Math.max(0, at - since) }
}

function shown (given: JsonObject): Json {
  const text = stringifyJson(given)
  return text.length <= MAX_ARGUMENTS ? given : `${text.slice(0, MAX_ARGUMENTS)}…[truncated]`
}
