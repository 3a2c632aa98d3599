import { type Json, type JsonObject } from '../../base/json.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type Summary } from './compact.ts'
import { type DialogueState, type TurnError } from '../shared/dialogue.ts'
import { type DialogueStart, type OfferedFunction, type ResolvedDefinitions } from '../shared/dialogue-start.ts'

/** A call of the model's last answer. */
export interface LoopCall {
  /** The id of the call, as the model gave it. */
  readonly id: Json
  readonly name: string
  /** Whether the model asked in the older dialect, by `function_call`. */
  readonly isOlder?: true
  /** The effect that makes the call; `undefined` for a call that was refused at once. */
  readonly effect: string | undefined
  /** The content of the message with the result, once the call has ended. */
  readonly content: string | undefined
}

/** The state of a dialogue that was handed over to another agent. */
export interface Handover {
  /** The key of the agent that answers now, such as `agents/helper`. */
  readonly active: string
  /** How many messages came before the handover: of these only the words are sent, without calls. */
  readonly from: number
  /** How often the dialogue was handed over since the user spoke last. */
  readonly count: number
  /** Whether one more handover was refused since the user spoke last. */
  readonly isRefused: boolean
}

/** A dialogue in which the model calls tools as it likes. */
export interface LoopState extends DialogueState {
  readonly tools: readonly OfferedFunction[]
  /** The definitions that the dialogue may call or hand over to; left out when there are none. */
  readonly definitions?: ResolvedDefinitions
  /** The last handover; left out until the dialogue is handed over for the first time. */
  readonly handover?: Handover
  readonly step: 'await_input' | 'ask_model' | 'call_tools' | 'ended'
  /** All messages of the dialogue in the form of the model's API, without the system message. */
  readonly messages: readonly JsonObject[]
  /** How often the model was asked since the user spoke last. */
  readonly turn: number
  /** The effect that asks the model, and for what: an answer, an answer in the right form alone, a summary of the first messages. */
  readonly asked:
    | { readonly effect: string, readonly purpose: 'turn' | 'close' }
    | { readonly effect: string, readonly purpose: 'compact', readonly upTo: number }
    | undefined
  /** The summary that is sent in place of the first messages. */
  readonly summary: Summary | undefined
  /** Whether a summary was asked for since the user spoke last. */
  readonly hasCompacted: boolean
  /** The size of the last request in tokens, as the provider counted it; 0 when it is unknown, or says nothing of the next request. */
  readonly lastInput: number
  /** The last answer as a value, for an agent that returns JSON of a schema. */
  readonly value: Json | undefined
  /** The calls of the model's last answer, in its order; empty when none is open. */
  readonly calls: readonly LoopCall[]
}

/** The result of a dialogue with a free agent, as programs read it. */
export interface LoopResult {
  readonly last_state: LoopState['step']
  readonly messages: readonly JsonObject[]
  /** What the user was answered in the last turn. */
  readonly answer: string | null
  /** The answer as a value, for an agent that returns JSON of a schema. */
  readonly value?: Json
  /** The key of the agent that answers now, such as `agents/helper`; left out where nothing was handed over. */
  readonly active?: string
  /** Why the last turn has failed. */
  readonly error: TurnError | null
}

/** The free agent: the model calls tools until it has an answer. */
export const LOOP: EngineKey<DialogueStart, LoopResult> = { name: 'loop/1' }
