import type { JsonObject } from '../base/json.ts'
import { createRegisteredTool, type RegisteredTool, type ToolContext } from './registered-tool.ts'
import type { Connector, PreparationState } from './preparation.ts'
import type { CommonDefinition, ToolDefinition } from './definition.ts'
import type { Operator } from './operator.ts'

/** One protocol over which tools are reached. Each has a folder of its own, and an element in `TOOL_TYPES`. */
export interface ToolType<D extends ToolDefinition = ToolDefinition> {
  /** The value of `type` in registrations, and the name of the member that can hold `url`, `method` and the like. */
  readonly name: string
  /** `endpoint`: `url` and `method`, then the object under the type's name. @throws Error with the reason why this is no tool of the type */
  parse (common: CommonDefinition, endpoint: JsonObject, operator: Operator): D
  /** Each connection is opened when it is first needed; `close` is called after each `ToolSource` that `open` returned was closed. */
  connect (resources: ToolResources): { open (definition: D): ToolSource, close (): Promise<void> }
}

export interface ToolResources extends ToolContext {
  readonly operator: Operator
  /** In bytes. */
  readonly maxReply: number
  /** To be called when a server offers other tools than before. */
  readonly changed: () => void
}

/** One tool, or all tools of an MCP server, whose list can change. */
export interface ToolSource {
  readonly definition: ToolDefinition
  tools (): readonly RegisteredTool[]
  problems?(): readonly string[]
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

export function singleSource (definition: ToolDefinition, connector: Connector, context: ToolContext): ToolSource {
  const tools = [createRegisteredTool(definition, connector, context)]
  return { definition, tools: () => tools, attempted: connector.attempted, state: connector.state, close: connector.close }
}

/** A tool with a default value logs information and no warning, since its calls then give the default. */
export function logUnprepared ({ id, fallback }: ToolDefinition, { log }: Pick<ToolContext, 'log'>): (error: Error) => void {
  return error => log[fallback === undefined ? 'warn' : 'info']({ tool: id, reason: error.message }, 'a tool could not be prepared')
}
