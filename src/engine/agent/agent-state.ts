import { type JsonObject } from '../../base/json.ts'
import { type EngineKey } from '../../session/engine.ts'
import { type DialogueState, type TurnError } from '../shared/dialogue.ts'
import { type DialogueStart } from '../shared/dialogue-start.ts'

/** A message in the dialogue of a user with an agent. */
export interface DialogueMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** `said`: words of the user or the agent. `status`: a line in which the agent tells of its own work. */
  readonly kind: 'said' | 'status'
}

/** The steps of a dialogue with an agent, named as in replies and logs. */
export type Step = 'await_input' | 'classify' | 'select' | 'validate' | 'execute' | 'ended'

/** The state of a dialogue with an agent that works in steps: it classifies a question, selects a tool, validates the parameters and executes the tool. */
export interface AgentState extends DialogueState {
  readonly step: Step
  /** All messages of the dialogue. Requests to the model carry a part of them. */
  readonly messages: readonly DialogueMessage[]
  /** The tool call that is being validated or made; `undefined` while there is none. */
  readonly pending: { readonly tool: string, readonly arguments: JsonObject } | undefined
  /** The effect (model request or tool call) that the dialogue waits for, and its purpose. `health` asks a tool whether it works, before the call. */
  readonly awaits: { readonly effect: string, readonly purpose: 'classify' | 'select' | 'select-json' | 'health' | 'call' } | undefined
  /** The outcome code of each step when it last ran. */
  readonly codes: Readonly<Partial<Record<Step, number>>>
}

/** The result of a session with an agent, which a program gets by the API: the state after the last turn. */
export interface AgentResult {
  readonly last_state: Step
  readonly codes: AgentState['codes']
  readonly messages: readonly DialogueMessage[]
  readonly pending: AgentState['pending'] | null
  /** The answer to the user in the last turn; `null` when there was none. */
  readonly answer: string | null
  /** The error of the last turn; `null` when it did not fail. */
  readonly error: TurnError | null
}

/** The engine key (name, and types of setting and result) of agents that classify a question, select a tool, validate and execute. */
export const AGENT: EngineKey<DialogueStart, AgentResult> = { name: 'agent/1' }
