import { type Json, type JsonObject } from '../../base/json.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type Summary } from './compact.ts'
import { type DialogueState, type TurnError } from '../shared/dialogue.ts'
import { type DialogueStart, type OfferedFunction, type ResolvedDefinitions } from '../shared/dialogue-start.ts'

/** A call of the model's last answer. */
export interface LoopCall {
  /** As the model gave it. */
  readonly id: Json
  readonly name: string
  /** Asked for in the older dialect. */
  readonly isOlder?: true
  /** The effect that makes it; `undefined` for one that is answered without. */
  readonly effect: string | undefined
  /** The content of its result, once it has ended. */
  readonly content: string | undefined
}

/** Who has the dialogue by now. */
export interface Handover {
  /** As `agents/helper`; setting and tools are its own. */
  readonly active: string
  /** How many messages came before: of these the texts are sent alone. */
  readonly from: number
  /** How often the dialogue was handed over since the user spoke. */
  readonly count: number
  /** Whether one more was refused since then. */
  readonly isRefused: boolean
}

/** A dialogue in which the model calls tools as it likes. */
export interface LoopState extends DialogueState {
  readonly tools: readonly OfferedFunction[]
  /** What it may call and hand over to; left out without any. */
  readonly definitions?: ResolvedDefinitions
  /** Left out until the dialogue is handed over for the first time. */
  readonly handover?: Handover
  readonly step: 'await_input' | 'ask_model' | 'call_tools' | 'ended'
  /** All of them, as the model's API has them, without the system message. */
  readonly messages: readonly JsonObject[]
  /** How often the model was asked since the user spoke last. */
  readonly turn: number
  /** The effect that asks the model, and for what: an answer, an answer in the right form alone, a summary of the first messages. */
  readonly asked:
    | { readonly effect: string, readonly purpose: 'turn' | 'close' }
    | { readonly effect: string, readonly purpose: 'compact', readonly upTo: number }
    | undefined
  /** Stands for the first messages. */
  readonly summary: Summary | undefined
  /** Whether a summary was asked for since the user spoke. */
  readonly hasCompacted: boolean
  /** What the model's provider counted last, in tokens; 0 when it does not count for the next question. */
  readonly lastInput: number
  /** The last answer, of an agent that returns one of a form. */
  readonly value: Json | undefined
  /** Of the model's last answer, in its order; empty when none is open. */
  readonly calls: readonly LoopCall[]
}

/** What a free dialogue came to, as programs read it. */
export interface LoopResult {
  readonly last_state: LoopState['step']
  readonly messages: readonly JsonObject[]
  /** What the user was answered in the last turn. */
  readonly answer: string | null
  /** The same of an agent that returns one of a form. */
  readonly value?: Json
  /** The agent that has the dialogue, as `agents/helper`, where it was handed over. */
  readonly active?: string
  /** Why the last turn has failed. */
  readonly error: TurnError | null
}

/** The free agent: the model calls tools until it has an answer. */
export const LOOP: EngineKey<DialogueStart, LoopResult> = { name: 'loop/1' }
