import { type Connector } from '../connector.ts'
import { type ToolDefinition } from '../definition/definition.ts'
import { type PreparationState } from './preparation.ts'
import { createRegisteredTool, type RegisteredTool, type ToolContext } from './registered-tool.ts'

/** What one registration brings: one tool, or all tools of a server, which come and go. */
export interface ToolSource {
  readonly definition: ToolDefinition
  tools (): readonly RegisteredTool[]
  /** Settles when the first attempt to prepare for calls has, whichever way. */
  readonly attempted: Promise<void>
  state (): PreparationState
  close (): Promise<void>
}

/** The source of a registration that is one tool. */
export function singleSource (definition: ToolDefinition, connector: Connector, context: ToolContext): ToolSource {
  const tools = [createRegisteredTool(definition, connector, context)]
  return { definition, tools: () => tools, attempted: connector.attempted, state: connector.state, close: connector.close }
}

/**
 * Logs why a tool could not be prepared. A tool with a stand-in can do without its server, so a warning comes only with a
 * call that fails.
 */
export function logUnprepared ({ id, fallback }: ToolDefinition, { log }: Pick<ToolContext, 'log'>): (error: Error) => void {
  return error => log[fallback === undefined ? 'warn' : 'info']({ tool: id, reason: error.message }, 'a tool could not be prepared')
}
