import { type JsonObject } from '../../base/json.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type DialogueState, type TurnError } from '../shared/dialogue.ts'
import { type DialogueStart } from '../shared/dialogue-start.ts'

/** One message of a dialogue. */
export interface DialogueMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** `status`: a line of the agent about its own work. */
  readonly kind: 'said' | 'status'
}

/** The steps of a dialogue, by the words of replies and logs. */
export type Step = 'await_input' | 'classify' | 'select' | 'validate' | 'execute' | 'ended'

/** A dialogue that classifies, selects, validates and executes. */
export interface AgentState extends DialogueState {
  readonly step: Step
  /** All messages; the model is sent a part of them. */
  readonly messages: readonly DialogueMessage[]
  /** The call that is being validated or made. */
  readonly pending: { readonly tool: string, readonly arguments: JsonObject } | undefined
  /** The effect that the dialogue waits for, and the purpose of it. */
  readonly awaits: { readonly effect: string, readonly purpose: 'classify' | 'select' | 'select-json' | 'health' | 'call' } | undefined
  /** The last outcome of each step. */
  readonly codes: Readonly<Partial<Record<Step, number>>>
}

/** The result of the last turn of a dialogue, as programs read it. */
export interface AgentResult {
  readonly last_state: Step
  readonly codes: AgentState['codes']
  readonly messages: readonly DialogueMessage[]
  readonly pending: AgentState['pending'] | null
  /** What the user was answered in the last turn. */
  readonly answer: string | null
  /** Why the last turn has failed. */
  readonly error: TurnError | null
}

/** The agent that classifies, selects, validates and executes. */
export const AGENT: EngineKey<DialogueStart, AgentResult> = { name: 'agent/1' }
