import { type Connector } from '../connector.ts'
import { type ToolDefinition } from '../definition/definition.ts'
import { type PreparationState } from './preparation.ts'
import { createRegisteredTool, type RegisteredTool, type ToolContext } from './registered-tool.ts'

/** The tools that one registration provides: one tool, or all tools of an MCP server, whose list can change. */
export interface ToolSource {
  readonly definition: ToolDefinition
  tools (): readonly RegisteredTool[]
  /** What is wrong with tools that the source offers and that cannot be used. */
  problems?(): readonly string[]
  /** Settles when the first attempt to prepare for calls (such as connecting) has succeeded or failed. */
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

/** Makes the source of a registration that is a single tool. */
export function singleSource (definition: ToolDefinition, connector: Connector, context: ToolContext): ToolSource {
  const tools = [createRegisteredTool(definition, connector, context)]
  return { definition, tools: () => tools, attempted: connector.attempted, state: connector.state, close: connector.close }
}

/**
 * Makes a function that logs why a tool could not be prepared, such as a failed connection. For a tool with a default value this is logged as
 * information and not as a warning, since its calls then give the default.
 */
export function logUnprepared ({ id, fallback }: ToolDefinition, { log }: Pick<ToolContext, 'log'>): (error: Error) => void {
  return error => log[fallback === undefined ? 'warn' : 'info']({ tool: id, reason: error.message }, 'a tool could not be prepared')
}
