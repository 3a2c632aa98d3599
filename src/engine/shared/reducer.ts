import { type Json } from '../../base/json.ts'
import { type LaterFact, type Next } from '../../session/engine.ts'
import { type Action, type Usage } from '../../session/model.ts'

/** How an effect ended, as a dialogue sees it. */
export type Ended =
  | { readonly value: Json, readonly usage?: Usage | undefined }
  /** `isSpent`: the effect was refused, because the session has used up its budget. */
  | { readonly failure: string, readonly code: string, readonly isSpent?: boolean }

/** The message about an effect of which nobody knows whether it was done. @param reason what is known of its end */
export function unknownOutcome (reason = 'it was interrupted'): string {
  return `${reason}. Nobody knows whether it was done`
}

/** The rules of a dialogue that has begun: each takes one fact of its session, and gives the state, effects and notices that follow. */
export interface Reducer<S> {
  /** The user says something. */
  hear (text: string, action?: Action): Next<S>
  /** An effect has ended. */
  end (effect: string, ended: Ended): Next<S>
  /** The state, the effects and the notices so far. A fact that does not concern the dialogue changes none of them. */
  next (): Next<S>
}

/** Gives a fact to a dialogue. */
export function takeFact<S> (reducer: Reducer<S>, fact: LaterFact): Next<S> {
  switch (fact.kind) {
    case 'input': return reducer.hear(fact.text, fact.action)
    case 'result': return reducer.end(fact.effect, { value: fact.result, usage: fact.usage })
    case 'failure': return reducer.end(fact.effect, { failure: fact.message, code: fact.code })
    case 'refused': return reducer.end(fact.effect, { failure: `refused: ${fact.reason}`, code: 'REFUSED', isSpent: fact.by === 'budget' })
    case 'unknown': return reducer.end(fact.effect, { failure: unknownOutcome(fact.reason), code: 'UNKNOWN' })
    default: return reducer.next()
  }
}
