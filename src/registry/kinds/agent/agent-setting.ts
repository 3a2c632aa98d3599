import { type JsonObject } from '../../../base/json.ts'

/** An agent with all its defaults, as plain data: a session keeps it in its log. */
export interface AgentSetting {
  readonly mode: 'steps' | 'tools'
  /** Of the service's own texts, and of its words to the model. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  /** `''` for the service's default. */
  readonly model: string
  readonly help: string
  readonly system: string
  /** Without it every message goes on to select. */
  readonly classify?: AgentClassify
  /** Without it the built-in words ask for a choice. */
  readonly select?: { readonly prompt: string }
  /** What becomes of a dialogue whose model has failed, or cannot be understood after all repairs. */
  readonly onError: 'listen' | 'end'
  /** How often an answer that cannot be read is sent back with what is wrong with it. */
  readonly repairs: number
  readonly history: AgentHistory
  /** How long each is waited for, in seconds. */
  readonly timeouts: { readonly model: number, readonly tool: number, readonly health: number }
  readonly maxTurns: number
  /** Whether followers get an answer while it is written. */
  readonly stream: boolean
  /** JSON Schema of every answer. */
  readonly returns?: JsonObject
  /** In place of the words of the language. */
  readonly commands: Readonly<Partial<Record<'exit' | 'help' | 'clear' | 'retry', readonly string[]>>>
  readonly budget: { readonly steps: number, readonly tokens: number, readonly idleMinutes: number }
  /** Names of tools. */
  readonly ask: readonly string[]
  readonly messages: Readonly<Record<string, string>>
  readonly tools: readonly AgentTool[]
  /** Agents, skills and plans that it calls; left out without any. */
  readonly children?: readonly AgentChild[]
  /** Ids of agents that it may hand the dialogue over to; left out without any. */
  readonly handoffs?: readonly string[]
}

/** How the model is asked whether a message is for this agent. */
export interface AgentClassify {
  readonly prompt: string
  /** `exact`: one word and nothing else. */
  readonly answers: 'lenient' | 'exact'
  /** What an answer counts as that is neither yes nor no, after all repairs. */
  readonly unclear: 'relevant' | 'irrelevant' | 'error'
}

/** What of a dialogue the model is sent. */
export interface AgentHistory {
  /** From the user's so many last messages on. */
  readonly turns: number
  /** In place of turns: so many messages as they are. */
  readonly messages?: number
  /** Whether it is sent the agent's lines about its own work. */
  readonly status: boolean
  /** Of a dialogue whose input is above so many tokens all but the last turns are summed up. */
  readonly compact: false | { readonly above: number, readonly keep: number, /** That writes the summary. @default the agent's */ readonly model?: string }
}

/** A tool as an agent offers it to its model. */
export interface AgentTool {
  /** What the model calls. */
  readonly name: string
  /** Ids of registered tools. */
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

/** An agent, a skill or a plan profile as an agent offers it to its model: a session of its own. */
export interface AgentChild {
  /** What the model calls. */
  readonly name: string
  readonly kind: 'agents' | 'skills' | 'plans'
  /** Dotted. */
  readonly id: string
  readonly description?: string
  /** Those of a skill are its own. */
  readonly parameters: Readonly<Record<string, ChildParameter>>
  /** Handlebars text over the arguments: the first message, or the goal; empty for none. */
  readonly input: string
  /** @default a part of what is left */
  readonly budget?: { readonly steps: number, readonly tokens: number }
  /** The operator's workspace of a plan, or target of a skill. */
  readonly place?: string
}

/** What a model gives to a child. */
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
