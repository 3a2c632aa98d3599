import type { Json, JsonObject } from '../base/json.ts'
import type { EngineKey } from '../session/engine.ts'
import type { Summary } from './sent-history.ts'
import type { DialogueStart, DialogueState, OfferedFunction, ResolvedDefinitions, TurnError } from './dialogue.ts'

export interface LoopCall {
  readonly id: Json
  readonly name: string
  /** Asked by `function_call` instead of `tool_calls`. */
  readonly isOlder?: true
  /** `undefined` for a call that was refused at once. */
  readonly effect?: string
  /** `undefined` until the call has ended. */
  readonly content?: string
}

export interface LoopState extends DialogueState {
  readonly tools: readonly OfferedFunction[]
  readonly definitions?: ResolvedDefinitions
  /** Of the messages before `from` the new model gets only texts. */
  readonly handover?: { readonly active: string, readonly from: number, readonly count: number, readonly isRefused: boolean }
  readonly step: 'await_input' | 'ask_model' | 'call_tools' | 'ended'
  /** Without the system message. */
  readonly messages: readonly JsonObject[]
  /** Requests since the user's last message or a later handover, without repairs and summaries. */
  readonly turn: number
  /** `turn` asks for an answer, `close` for the same in the right JSON, `compact` for a summary. */
  readonly asked?:
    | { readonly effect: string, readonly purpose: 'turn' | 'close' }
    | { readonly effect: string, readonly purpose: 'compact', readonly upTo: number }
    | undefined
  readonly summary?: Summary | undefined
  readonly hasCompacted: boolean
  /** In tokens, as the provider counted; 0 when unknown, and after a summary, a handover or `clear`. */
  readonly lastInput: number
  /** For an agent whose answers have to fit a schema. */
  readonly value?: Json | undefined
  /** In the words of the model's API. */
  readonly finishReason?: string | undefined
  readonly calls: readonly LoopCall[]
}

export interface LoopResult {
  readonly last_state: LoopState['step']
  readonly messages: readonly JsonObject[]
  /** In the last turn. */
  readonly answer: string | null
  /** For an agent whose answers have to fit a schema. */
  readonly value?: Json
  /** In the words of the model's API: `length` and `content_filter` mean that the answer was cut. */
  readonly finishReason?: string
  /** The agent that answers now; left out without a handover. */
  readonly active?: string
  /** Of the last turn. */
  readonly error: TurnError | null
}

export const LOOP: EngineKey<DialogueStart, LoopResult> = { name: 'loop/1' }

interface DialogueMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** `status`: a line in which the agent tells of its own work. */
  readonly kind: 'said' | 'status'
}

export type DialogueStep = 'await_input' | 'classify' | 'select' | 'validate' | 'execute' | 'ended'

export interface AgentState extends DialogueState {
  readonly step: DialogueStep
  readonly messages: readonly DialogueMessage[]
  readonly pending?: { readonly tool: string, readonly arguments: JsonObject }
  /** `health` asks a tool whether it works, before the call. */
  readonly awaits?: { readonly effect: string, readonly purpose: 'classify' | 'select' | 'select-json' | 'health' | 'call' } | undefined
  readonly codes: Readonly<Partial<Record<DialogueStep, number>>>
}

export interface AgentResult {
  readonly last_state: DialogueStep
  readonly codes: AgentState['codes']
  readonly messages: readonly DialogueMessage[]
  readonly pending: AgentState['pending'] | null
  /** In the last turn. */
  readonly answer: string | null
  /** Of the last turn. */
  readonly error: TurnError | null
}

export const AGENT: EngineKey<DialogueStart, AgentResult> = { name: 'agent/1' }
