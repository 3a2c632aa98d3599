import fc from 'fast-check'
import { type Json, type JsonObject } from '../../src/base/json.ts'
import { type Fact } from '../../src/session/model.ts'
import { approved } from '../session/approve.ts'
import { answerWith, callOf, type Dialogue } from './dialogue.ts'

/** Something that happens to a dialogue; `pick` chooses what it happens to. */
type Event =
  | { readonly kind: 'say', readonly text: string }
  | { readonly kind: 'result', readonly pick: number, readonly value: Json }
  | { readonly kind: 'failure' | 'unknown' | 'refused' | 'rejected' | 'approved', readonly pick: number }

/** Random dialogues. @param names of tools that the model may call @param lines that users say beside anything */
export function events (names: readonly string[], parameters: readonly string[], lines: readonly string[]): fc.Arbitrary<Event[]> {
  const text = fc.oneof(fc.constantFrom(...lines, '', 'yes', 'no', '/exit'), fc.string({ maxLength: 40 }))
  const values = fc.dictionary(fc.constantFrom(...parameters, '__proto__', 'toString', 'name'), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 })
  const call = fc.tuple(fc.constantFrom(...names, 'order_pizza', 'constructor', ''), fc.oneof(values.map(value => JSON.stringify(value)), fc.string({ maxLength: 10 })), fc.string({ maxLength: 3 })).map(each => callOf(...each))
  const answer = fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom('yes', 'да', 'no', 'Hello').map(content => answerWith({ content })) },
    { weight: 4, arbitrary: fc.array(call, { maxLength: 4 }).map(calls => answerWith({ content: null, tool_calls: calls })) },
    { weight: 2, arbitrary: fc.constantFrom<JsonObject[]>({ status: 'ok' }, { error: 'broken' }, { answer: 'x', owners: ['y'], references: [] }) },
    fc.jsonValue({ maxDepth: 3 }) as fc.Arbitrary<Json>
  )
  const pick = fc.nat(5)
  return fc.array(fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('say' as const), text }) },
    { weight: 8, arbitrary: fc.record({ kind: fc.constant('result' as const), pick, value: answer }) },
    fc.record({ kind: fc.constantFrom('failure' as const, 'unknown' as const, 'refused' as const, 'rejected' as const, 'approved' as const), pick })
  ), { maxLength: 40 })
}

/** Lets an event happen, also where no runner would: to what is held, has ended, or was never there. */
export function happen (dialogue: Dialogue, event: Event): void {
  if (event.kind === 'say') {
    dialogue.say(event.text)
    return
  }
  // Only an input ends a wait.
  dialogue.take(factOf(dialogue, event, dialogue.open.filter(({ kind }) => kind !== 'wait')[event.pick]?.id ?? '1.7'))
}

function factOf (dialogue: Dialogue, event: Exclude<Event, { readonly kind: 'say' }>, effect: string): Fact {
  switch (event.kind) {
    case 'result': return { kind: 'result', effect, result: event.value, usage: { input: 1, output: 1 } }
    case 'failure': return { kind: 'failure', effect, code: event.pick % 2 === 0 ? 'TOOLS_REFUSED' : 'TIMEOUT', message: 'broken' }
    case 'unknown': return { kind: 'unknown', effect }
    case 'refused': return { kind: 'refused', effect, by: 'policy', reason: 'forbidden' }
    case 'rejected': return { kind: 'decided', effect, by: 'me', decision: 'reject' }
    case 'approved': return approved(dialogue.session, effect)
  }
}

/** Results of a model that never has enough, until the dialogue waits or has ended. @returns how many were given */
export function feed (dialogue: Dialogue, result: (effect: JsonObject) => Json, most: number): number {
  let given = 0
  while (dialogue.session.status === 'running' && given < most) {
    dialogue.end(result(dialogue.effect() as unknown as JsonObject))
    given++
  }
  return given
}
