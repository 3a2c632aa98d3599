import type { Json, JsonObject } from '../base/json.ts'
import type { EngineKey } from '../session/engine.ts'
import type { Summary } from './sent-history.ts'
import type { DialogueStart, DialogueState, OfferedFunction, ResolvedDefinitions, TurnError } from './dialogue.ts'

/** A function call in the model's last answer, with its result once there is one. */
export interface LoopCall {
  /** The id of the call, as the model gave it. */
  readonly id: Json
  readonly name: string
  /** Whether the model asked by the older field `function_call` instead of `tool_calls`. */
  readonly isOlder?: true
  /** The id of the effect (tool call or child session) that performs the call; `undefined` for a call that was refused at once. */
  readonly effect: string | undefined
  /** The content of the message that gives the model the result; `undefined` until the call has ended. */
  readonly content: string | undefined
}

/** A handover: another agent answers the user in this dialogue from then on. */
export interface Handover {
  /** The id of the agent that answers now, such as `agents/helper`. */
  readonly active: string
  /** The number of messages before the handover. Of these, the new agent's model is sent only the texts, without function calls. */
  readonly from: number
  /** The number of handovers since the user's last message. */
  readonly count: number
  /** Whether a further handover was refused since the user's last message. */
  readonly isRefused: boolean
}

/** The state of a dialogue with a free agent, in which the model calls tools as it likes. */
export interface LoopState extends DialogueState {
  readonly tools: readonly OfferedFunction[]
  /** The agents, skills and plans that the model may call or hand over to, as they were when the dialogue began; left out when there are none. */
  readonly definitions?: ResolvedDefinitions
  /** The last handover to another agent; left out until there is one. */
  readonly handover?: Handover
  readonly step: 'await_input' | 'ask_model' | 'call_tools' | 'ended'
  /** All messages of the dialogue in the form of the model's API, without the system message. */
  readonly messages: readonly JsonObject[]
  /** The number of the current turn. It counts requests to the model since the user's last message or a later handover, without repairs and summaries. */
  readonly turn: number
  /**
   * The running request to the model, if any. Its purpose: `turn` asks for an answer, `close` for the same answer in the right JSON,
   * `compact` for a summary of the first messages.
   */
  readonly asked:
    | { readonly effect: string, readonly purpose: 'turn' | 'close' }
    | { readonly effect: string, readonly purpose: 'compact', readonly upTo: number }
    | undefined
  /** The summary that is sent to the model in place of the first messages, if there is one. */
  readonly summary: Summary | undefined
  /** Whether a summary was asked for since the user's last message. */
  readonly hasCompacted: boolean
  /** The size of the last request in tokens, as the provider counted it; 0 when it is unknown, and after a summary, a handover or `clear`. */
  readonly lastInput: number
  /** The last answer as a JSON value, for an agent whose answers have to fit a schema. */
  readonly value: Json | undefined
  /** Why the model stopped in its last answer, in the words of its API; left out while that is unknown. */
  readonly finishReason?: string | undefined
  /** The calls in the model's last answer, in order; empty when none waits for its result. */
  readonly calls: readonly LoopCall[]
}

/** The result of a session with a free agent, which a program gets by the API: the state after the last turn. */
export interface LoopResult {
  readonly last_state: LoopState['step']
  readonly messages: readonly JsonObject[]
  /** The answer to the user in the last turn; `null` when there was none. */
  readonly answer: string | null
  /** The answer as a JSON value, for an agent whose answers have to fit a schema. */
  readonly value?: Json
  /** Why the model stopped, in the words of its API, such as `stop`; `length` and `content_filter` mean that the answer was cut. Left out when unknown. */
  readonly finishReason?: string
  /** The id of the agent that answers now, such as `agents/helper`; left out when the dialogue was never handed over. */
  readonly active?: string
  /** The error of the last turn; `null` when it did not fail. */
  readonly error: TurnError | null
}

/** The engine key (name, and types of setting and result) of free agents, whose model calls tools as it likes until it has an answer. */
export const LOOP: EngineKey<DialogueStart, LoopResult> = { name: 'loop/1' }

/** A message in the dialogue of a user with an agent. */
interface DialogueMessage {
  readonly role: 'user' | 'assistant'
  readonly content: string
  /** `said`: words of the user or the agent. `status`: a line in which the agent tells of its own work. */
  readonly kind: 'said' | 'status'
}

/** The steps of a dialogue with an agent, named as in replies and logs. */
export type DialogueStep = 'await_input' | 'classify' | 'select' | 'validate' | 'execute' | 'ended'

/** The state of a dialogue with an agent that works in steps: it classifies a question, selects a tool, validates the parameters and executes the tool. */
export interface AgentState extends DialogueState {
  readonly step: DialogueStep
  /** All messages of the dialogue. Requests to the model carry a part of them. */
  readonly messages: readonly DialogueMessage[]
  /** The tool call that is being validated or made; `undefined` while there is none. */
  readonly pending: { readonly tool: string, readonly arguments: JsonObject } | undefined
  /** The effect (model request or tool call) that the dialogue waits for, and its purpose. `health` asks a tool whether it works, before the call. */
  readonly awaits: { readonly effect: string, readonly purpose: 'classify' | 'select' | 'select-json' | 'health' | 'call' } | undefined
  /** The outcome code of each step when it last ran. */
  readonly codes: Readonly<Partial<Record<DialogueStep, number>>>
}

/** The result of a session with an agent, which a program gets by the API: the state after the last turn. */
export interface AgentResult {
  readonly last_state: DialogueStep
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
