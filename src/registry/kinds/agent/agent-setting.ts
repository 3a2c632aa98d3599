import { type JsonObject } from '../../../base/json.ts'

/** An agent with all its defaults, as plain data: a session keeps it in its log. */
export interface AgentSetting {
  readonly mode: 'steps' | 'tools'
  /** `''` for the service's default. */
  readonly model: string
  readonly help: string
  readonly system: string
  readonly classify: { readonly prompt: string }
  readonly select: { readonly prompt: string }
  readonly historyLimit: number
  readonly maxTurns: number
  readonly commands: { readonly exit: readonly string[], readonly help: readonly string[], readonly clear: readonly string[] }
  readonly budget: { readonly steps: number, readonly tokens: number, readonly idleMinutes: number }
  /** Names of tools. */
  readonly ask: readonly string[]
  readonly messages: Readonly<Record<string, string>>
  readonly tools: readonly AgentTool[]
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
