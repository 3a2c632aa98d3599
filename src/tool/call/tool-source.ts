import { type Connector } from '../connector.ts'
import { type ToolDefinition } from '../definition/definition.ts'
import { type PreparationState } from './preparation.ts'
import { createRegisteredTool, type RegisteredTool, type ToolContext } from './registered-tool.ts'

/** The tools that one registration brings: a single tool, or all tools of an MCP server, which can change. */
export interface ToolSource {
  readonly definition: ToolDefinition
  tools (): readonly RegisteredTool[]
  /** Settles when the first attempt to prepare for calls has ended, with or without success. */
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

/** The source of a registration that is a single tool. */
export function singleSource (definition: ToolDefinition, connector: Connector, context: ToolContext): ToolSource {
  const tools = [createRegisteredTool(definition, connector, context)]
  return { definition, tools: () => tools, attempted: connector.attempted, state: connector.state, close: connector.close }
}

/**
 * Makes the function that logs why a tool could not be prepared. A tool with a default result can do without its server: then it is no warning, and
 * only a failed call is one.
 */
export function logUnprepared ({ id, fallback }: ToolDefinition, { log }: Pick<ToolContext, 'log'>): (error: Error) => void {
  return error => log[fallback === undefined ? 'warn' : 'info']({ tool: id, reason: error.message }, 'a tool could not be prepared')
}
