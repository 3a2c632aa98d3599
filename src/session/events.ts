import { type Json, type JsonObject } from '../base/json.ts'
import { type Notice, type Start, type Transition } from './model.ts'

/** An event for the followers of a session: a notice from the session's log, or an input of its user. */
export interface SessionEvent {
  readonly type: Notice['type'] | 'input'
  readonly data: JsonObject
}

/**
 * The events that followers get for a transition (an entry of the session's log), in order. Each holds the time of the transition. Clients know
 * the n-th event, counted from 0, by the transition's number and n.
 */
export function eventsOf ({ at, fact, notices }: Transition): SessionEvent[] {
  const time = timeOf(at)
  const said = inputOf(fact)
  return [...said === undefined ? [] : [{ type: 'input' as const, data: said }], ...notices].map(({ type, data }) => ({ type, data: { ...data, at: time } }))
}

/** Formats a time from a session's log for clients, as ISO 8601. @param at in ms since 1970 */
export function timeOf (at: number): string {
  return new Date(at).toISOString()
}

/**
 * The user's input that a fact holds; `undefined` for a fact without one. The engine writes no notice for an input, since the log holds
 * it in the fact already.
 */
function inputOf (fact: Transition['fact']): JsonObject | undefined {
  if (fact.kind === 'input') return { by: fact.by, text: fact.text, ...(fact.action === undefined ? {} : { action: fact.action.name }) }
  if (fact.kind !== 'started') return undefined
  const text = wordsOf(fact.start)
  return text === '' ? undefined : { by: fact.start.owner, text }
}

/** The user's text at the start of a session: the goal of a plan, or the prompt that the user added to a skill. */
function wordsOf ({ input, setting }: Start): string {
  const skill = memberOf(setting, 'skill')
  return [memberOf(input, 'goal'), memberOf(skill, 'prompt')].find(text => typeof text === 'string') as string | undefined ?? ''
}

function memberOf (value: Json | undefined, name: string): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined
}
