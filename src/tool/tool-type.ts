import type { JsonObject } from '../base/json.ts'
import { createRegisteredTool, type RegisteredTool, type ToolContext } from './registered-tool.ts'
import type { Connector, PreparationState } from './preparation.ts'
import type { CommonDefinition, ToolDefinition } from './definition.ts'
import type { Operator } from './operator.ts'

/** A type of tools: one protocol over which tools are reached (HTTP, gRPC, MCP). Each type has a folder of its own, and an element in `TOOL_TYPES`. */
export interface ToolType<D extends ToolDefinition = ToolDefinition> {
  /** The type's name: the value of `type` in registrations, and the name of the member that can hold `url`, `method` and the like. */
  readonly name: string
  /**
   * Reads from a registration how the tool is reached.
   * @param endpoint the members that say how: `url` and `method` of the registration, then all members of the object under the type's name
   * @throws Error with the reason why this is no tool of the type
   */
  parse (common: CommonDefinition, endpoint: JsonObject, operator: Operator): D
  /** Makes what all tools of the type share, such as connections. Each connection is opened when it is first needed. */
  connect (resources: ToolResources): ToolConnections<D>
}

/** The connections that the tools of one type share. */
export interface ToolConnections<D extends ToolDefinition = ToolDefinition> {
  /** Begins to connect to the tool, or the server of tools, that a registration describes. */
  open (definition: D): ToolSource
  /** Closes the shared connections. To be called after each `ToolSource` that `open` returned was closed. */
  close (): Promise<void>
}

/** The parts of the service that connections to tools need. */
export interface ToolResources extends ToolContext {
  readonly operator: Operator
  /** The largest size of a reply, in bytes. */
  readonly maxReply: number
  /** To be called when a server offers other tools than before. */
  readonly changed: () => void
}

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
