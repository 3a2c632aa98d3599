import { type JsonObject } from '../../../base/json.ts'

export interface AgentSetting {
  readonly mode: 'steps' | 'tools'
  readonly model?: string
  readonly help: string
  readonly system: string
  readonly classify: { readonly prompt: string }
  readonly select: { readonly prompt: string }
  readonly historyLimit: number
  readonly maxTurns: number
  readonly commands: { readonly exit: readonly string[], readonly help: readonly string[], readonly clear: readonly string[] }
  readonly budget: { readonly steps: number, readonly tokens: number, readonly idleMinutes: number }
  readonly ask: readonly string[]
  readonly messages: Readonly<Record<string, string>>
  readonly tools: readonly AgentTool[]
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

export interface AgentParameter {
  readonly description?: string
  readonly type: string
  readonly maxLength?: number
  readonly absent?: string
  readonly empty?: string
  readonly tooLong?: string
  readonly ready?: string
}
