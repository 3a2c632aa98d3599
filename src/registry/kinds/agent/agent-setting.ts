import { type JsonObject } from '../../../base/json.ts'

/** An agent with all its defaults, as plain data: a session keeps it in its log. */
export interface AgentSetting {
  readonly mode: 'steps' | 'tools'
  /** The language of the service's own texts, and of its words to the model. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  /** The model's name; `''` for the service's default. */
  readonly model: string
  readonly help: string
  readonly system: string
  /** How messages are classified as relevant; without it every message goes on to `select`. */
  readonly classify?: AgentClassify
  /** The prompt that lets the model choose a tool; without it the built-in words ask for the choice. */
  readonly select?: { readonly prompt: string }
  /** What happens to a dialogue whose model has failed, or whose answer cannot be understood after all repairs. */
  readonly onError: 'listen' | 'end'
  /** How often the service sends an unreadable answer back to the model, with its mistakes. */
  readonly repairs: number
  readonly history: AgentHistory
  /** The longest wait for each kind of call, in seconds. */
  readonly timeouts: { readonly model: number, readonly tool: number, readonly health: number }
  readonly maxTurns: number
  /** Whether followers of the session get an answer while the model writes it. */
  readonly stream: boolean
  /** The JSON Schema of every answer. */
  readonly returns?: JsonObject
  /** The words for each command of the user, in place of those of the language. */
  readonly commands: Readonly<Partial<Record<'exit' | 'help' | 'clear' | 'retry', readonly string[]>>>
  readonly budget: { readonly steps: number, readonly tokens: number, readonly idleMinutes: number }
  /** The names of tools that are called only after a person's approval. */
  readonly ask: readonly string[]
  readonly messages: Readonly<Record<string, string>>
  readonly tools: readonly AgentTool[]
  /** The agents, skills and plans that the agent calls; left out when there are none. */
  readonly children?: readonly AgentChild[]
  /** The ids of agents that the agent may hand the dialogue over to; left out when there are none. */
  readonly handoffs?: readonly string[]
}

/** How the model is asked whether a message is for this agent. */
export interface AgentClassify {
  readonly prompt: string
  /** How strictly an answer is read. `exact`: the answer must be one word and nothing else. */
  readonly answers: 'lenient' | 'exact'
  /** What an answer counts as when it is neither yes nor no after all repairs. */
  readonly unclear: 'relevant' | 'irrelevant' | 'error'
}

/** Which part of a dialogue the model is sent. */
export interface AgentHistory {
  /** How many of the user's last messages count: the model is sent everything from the first of them on. */
  readonly turns: number
  /** How many of the last messages the model is sent, as they are; takes the place of `turns`. */
  readonly messages?: number
  /** Whether the model is sent the agent's lines about its own work. */
  readonly status: boolean
  /** Of a dialogue whose input is above so many tokens all but the last turns are summed up. */
  readonly compact: false | { readonly above: number, readonly keep: number, /** That writes the summary. @default the agent's */ readonly model?: string }
}

/** A tool as an agent offers it to its model. */
export interface AgentTool {
  /** The name of the function that the model calls. */
  readonly name: string
  /** The id of a registered tool. */
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
  /** The name of the function that the model calls. */
  readonly name: string
  readonly kind: 'agents' | 'skills' | 'plans'
  /** The dotted id of the agent, skill or plan. */
  readonly id: string
  readonly description?: string
  /** The parameters that the model fills in; a skill's are those that the skill declares. */
  readonly parameters: Readonly<Record<string, ChildParameter>>
  /** A Handlebars text over the arguments: the child's first message, or its goal; empty for none. */
  readonly input: string
  /** The limits of the child's session. @default a part of what is left of the parent's budget */
  readonly budget?: { readonly steps: number, readonly tokens: number }
  /** The operator's workspace for a plan, or the operator's target for a skill. */
  readonly place?: string
}

/** A parameter that the model gives to a child. */
export interface ChildParameter {
  readonly description?: string
  readonly type: string
  /** The greatest length in code points. */
  readonly maxLength?: number
  readonly required: boolean
}

export interface AgentParameter {
  readonly description?: string
  readonly type: string
  /** The greatest length in code points. */
  readonly maxLength?: number
  readonly absent?: string
  readonly empty?: string
  readonly tooLong?: string
  readonly ready?: string
}
