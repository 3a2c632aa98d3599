import { type Json, type JsonObject } from '../base/json.ts'
import { type Notice, type Start, type Transition } from './model.ts'

/** What followers of a session are told: what its engine says, and what its user said. */
export interface SessionEvent {
  readonly type: Notice['type'] | 'input'
  readonly data: JsonObject
}

/** The events of a transition, in their order: the n-th is known by the id `seq.n`. Each says when it was. */
export function eventsOf ({ at, fact, notices }: Transition): SessionEvent[] {
  const time = timeOf(at)
  const said = inputOf(fact)
  return [...said === undefined ? [] : [{ type: 'input' as const, data: said }], ...notices].map(({ type, data }) => ({ type, data: { ...data, at: time } }))
}

/** A time of a log as clients read it. @param at in ms since 1970 */
export function timeOf (at: number): string {
  return new Date(at).toISOString()
}

/** What a user has said with a fact. It is in the log already, so that no notice repeats it. */
function inputOf (fact: Transition['fact']): JsonObject | undefined {
  if (fact.kind === 'input') return { by: fact.by, text: fact.text, ...(fact.action === undefined ? {} : { action: fact.action.name }) }
  if (fact.kind !== 'started') return undefined
  const text = wordsOf(fact.start)
  return text === '' ? undefined : { by: fact.start.owner, text }
}

/** The words that a session starts with: the goal of a plan, what somebody adds to a skill. */
function wordsOf ({ input, setting }: Start): string {
  const skill = memberOf(setting, 'skill')
  return [memberOf(input, 'goal'), memberOf(skill, 'prompt')].find(text => typeof text === 'string') as string | undefined ?? ''
}

function memberOf (value: Json | undefined, name: string): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined
}
