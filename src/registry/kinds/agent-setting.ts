import { type JsonObject } from '../../base/json.ts'

/** An agent (a dialogue with a user, described as data) with all its defaults filled in. It is plain data, because a session keeps a copy of it in its log. */
export interface AgentSetting {
  readonly mode: 'steps' | 'tools'
  /** The language of the fixed texts that the service itself writes to the user and to the model. @default `DEFAULT_LANGUAGE` */
  readonly language?: 'en' | 'ru'
  /** The model's name; `''` for the service's default. */
  readonly model: string
  readonly help: string
  readonly system: string
  /** How the model decides whether a user's message is relevant. Without this field every message counts as relevant. */
  readonly classify?: AgentClassify
  /** The prompt that asks the model to choose a tool; when it is left out, a built-in text of the service asks. */
  readonly select?: { readonly prompt: string }
  /**
   * What happens when a call of the agent's model has failed, or when the model's answer cannot be understood after all repairs. `listen`: the agent
   * waits for the next message. `end`: the dialogue ends.
   */
  readonly onError: 'listen' | 'end'
  /** How many times the service asks the model to correct an answer that it cannot read; it sends the model the answer and the mistakes in it. */
  readonly repairs: number
  readonly history: AgentHistory
  /** The longest wait for each kind of call, in seconds. */
  readonly timeouts: { readonly model: number, readonly tool: number, readonly health: number }
  readonly maxTurns: number
  /** Whether the clients that watch the session see an answer while the model is still writing it. */
  readonly stream: boolean
  /** The JSON Schema that every answer of the agent must fit. */
  readonly returns?: JsonObject
  /** The words by which a user gives each command. They replace the words that the agent's language has for the command. */
  readonly commands: Readonly<Partial<Record<'exit' | 'help' | 'clear' | 'retry', readonly string[]>>>
  readonly budget: { readonly steps: number, readonly tokens: number, readonly idleMinutes: number }
  /** The names of the functions, as the model calls them, that run only after a person's approval. */
  readonly ask: readonly string[]
  readonly messages: Readonly<Record<string, string>>
  readonly tools: readonly AgentTool[]
  /** The agents, skills and plans that the agent calls; left out when there are none. */
  readonly children?: readonly AgentChild[]
  /** The ids of the agents to which this agent is allowed to hand the dialogue over; absent when there are none. */
  readonly handoffs?: readonly string[]
}

/** How the model is asked whether a message is for this agent. */
export interface AgentClassify {
  readonly prompt: string
  /** How strictly the model's answer is read. `exact`: the answer must be one word and nothing else. */
  readonly answers: 'lenient' | 'exact'
  /** How a message is classified when the model's answer about it is neither yes nor no after all repairs. */
  readonly unclear: 'relevant' | 'irrelevant' | 'error'
}

/** Which part of the dialogue is sent to the model. */
export interface AgentHistory {
  /** How many turns are sent to the model, the current one included. A turn is a message of the user, or several in a row, and what follows. */
  readonly turns: number
  /** How many of the last messages the model is sent unchanged; takes the place of `turns`. */
  readonly messages?: number
  /** Whether the model is also sent the messages in which the agent has told about its own work, such as which tool it has chosen. */
  readonly status: boolean
  /** When the dialogue is summed up to save tokens: above `above` tokens of input, all but the last `keep` turns become a summary. `false` for never. */
  readonly compact: false | { readonly above: number, readonly keep: number, /** The model that sums up. @default the agent's */ readonly model?: string }
}

/** A registered tool in the form in which an agent offers it to its model. */
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

/** An agent, a skill or a plan profile that an agent offers to its model as a function. A call of the function starts a session of its own, the child. */
export interface AgentChild {
  /** The name of the function that the model calls. */
  readonly name: string
  readonly kind: 'agents' | 'skills' | 'plans'
  /** The dotted id of the agent, skill or plan. */
  readonly id: string
  readonly description?: string
  /** The parameters that the model fills in. Empty for a skill, because a skill declares its parameters itself. */
  readonly parameters: Readonly<Record<string, ChildParameter>>
  /**
   * A Handlebars template over the arguments of the call. Its output is the first message to an agent or a skill, or the goal of a plan. `''` when the
   * called agent, skill or plan gets no such text.
   */
  readonly input: string
  /** The limits of the session that the call starts. @default a part of the budget that the calling session has not yet used */
  readonly budget?: { readonly steps: number, readonly tokens: number }
  /** The name of the workspace (a folder) in which the plan works, or of the target (a machine) on which the skill runs commands. The operator sets up both. */
  readonly place?: string
}

/** A parameter that the model fills in when it calls an agent, a skill or a plan. */
export interface ChildParameter {
  readonly description?: string
  readonly type: string
  /** The longest text that the model is allowed to give, in code points. */
  readonly maxLength?: number
  readonly required: boolean
}

export interface AgentParameter {
  readonly description?: string
  readonly type: string
  /** The longest text that the model is allowed to give, in code points. */
  readonly maxLength?: number
  readonly absent?: string
  readonly empty?: string
  readonly tooLong?: string
  readonly ready?: string
}
