import { type Json } from '../../base/json.ts'
import { type LaterFact, type Next } from '../../session/engine.ts'
import { type Action, type Usage } from '../../session/model.ts'

/** The end of an effect (a model request, a tool call), as a dialogue gets it: a value, or a failure. */
export type Ended =
  | { readonly value: Json, readonly usage?: Usage | undefined }
  /** `isSpent`: the service refused the effect, because the session has used up its budget. */
  | { readonly failure: string, readonly code: string, readonly isSpent?: boolean }

/** The message about an interrupted tool call or command that perhaps was done. @param reason what is known about its end, without a full stop */
export function unknownOutcome (reason = 'it was interrupted'): string {
  return `${reason}. Nobody knows whether it was done`
}

/**
 * A reducer holds the rules of a dialogue. `hear` and `end` take one fact (an entry of the session's log), and compute the session's new state,
 * the effects (model requests, tool calls) to begin, and the notices for clients.
 */
export interface Reducer<S> {
  /** Handles a message or an action of the user. */
  hear (text: string, action?: Action): Next<S>
  /** Handles the end of an effect: the answer to a model request, or the result of a tool call. */
  end (effect: string, ended: Ended): Next<S>
  /** The state, effects and notices that `hear` or `end` has computed; the old state alone when the fact does not concern the dialogue. */
  next (): Next<S>
}

/** Passes a fact (an entry of the session's log) to the method of the dialogue's reducer that takes it. */
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
