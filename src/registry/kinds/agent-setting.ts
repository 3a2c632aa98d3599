import { type JsonObject } from '../../base/json.ts'

/** Plain data with all defaults filled in, because a session keeps a copy of it in its log. */
export interface AgentSetting {
  readonly mode: 'steps' | 'tools'
  /** Of the service's own fixed texts. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  /** `''` for the service's default. */
  readonly model: string
  readonly help: string
  readonly system: string
  /** Without it every message counts as relevant. */
  readonly classify?: AgentClassify
  /** A built-in text by default. */
  readonly select?: { readonly prompt: string }
  /** After a failed call or an unreadable answer: `listen` waits for the next message, `end` ends the dialogue. */
  readonly onError: 'listen' | 'end'
  /** Times that the model is sent its answer and the mistakes in it. */
  readonly repairs: number
  readonly history: AgentHistory
  /** In seconds. */
  readonly timeouts: { readonly model: number, readonly tool: number, readonly health: number }
  readonly maxTurns: number
  /** Clients see an answer while the model is still writing it. */
  readonly stream: boolean
  readonly returns?: JsonObject
  /** They replace the words of the agent's language. */
  readonly commands: Readonly<Partial<Record<'exit' | 'help' | 'clear' | 'retry', readonly string[]>>>
  readonly budget: { readonly steps: number, readonly tokens: number, readonly idleMinutes: number }
  readonly ask: readonly string[]
  readonly messages: Readonly<Record<string, string>>
  readonly tools: readonly AgentTool[]
  readonly children?: readonly AgentChild[]
  readonly handoffs?: readonly string[]
}

export interface AgentClassify {
  readonly prompt: string
  /** `exact`: one word and nothing else. */
  readonly answers: 'lenient' | 'exact'
  /** When the answer is neither yes nor no after all repairs. */
  readonly unclear: 'relevant' | 'irrelevant' | 'error'
}

export interface AgentHistory {
  /** Turns, the current one included: messages of the user in a row, and what follows. */
  readonly turns: number
  /** Messages sent unchanged, in place of `turns`. */
  readonly messages?: number
  /** Also the messages about the agent's own work, such as the chosen tool. */
  readonly status: boolean
  /** Above `above` tokens of input, all but the last `keep` turns become a summary; `false` for never. */
  readonly compact: false | { readonly above: number, readonly keep: number, /** The model that sums up. @default the agent's */ readonly model?: string }
}

export interface AgentTool {
  readonly name: string
  readonly tool: string
  readonly health?: string
  readonly description?: string
  readonly label: string
  readonly errorLabel: string
  readonly failed: string
  readonly parameters: Readonly<Record<string, AgentParameter>>
  readonly arguments: JsonObject
  readonly show: ReadonlyArray<{ readonly to: 'both' | 'stdout' | 'log', readonly text: string }>
}

/** A call of the function starts a session of its own, the child. */
export interface AgentChild {
  readonly name: string
  readonly kind: 'agents' | 'skills' | 'plans'
  readonly id: string
  readonly description?: string
  /** Empty for a skill, which declares its parameters itself. */
  readonly parameters: Readonly<Record<string, ChildParameter>>
  /** A Handlebars template over the call's arguments: the first message, or the goal of a plan; `''` for none. */
  readonly input: string
  /** @default a part of the budget that the calling session has not yet used */
  readonly budget?: { readonly steps: number, readonly tokens: number }
  /** The operator's workspace for a plan, or target for a skill's commands. */
  readonly place?: string
}

export interface ChildParameter {
  readonly description?: string
  readonly type: string
  /** In code points. */
  readonly maxLength?: number
  readonly required: boolean
}

export interface AgentParameter {
  readonly description?: string
  readonly type: string
  /** In code points. */
  readonly maxLength?: number
  readonly absent?: string
  readonly empty?: string
  readonly tooLong?: string
  readonly ready?: string
}
