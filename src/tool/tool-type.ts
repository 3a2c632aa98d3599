import { type JsonObject } from '../base/json.ts'
import { type ToolContext } from './call/registered-tool.ts'
import { type ToolSource } from './call/tool-source.ts'
import { type CommonDefinition, type ToolDefinition } from './definition/definition.ts'
import { type Operator } from './operator.ts'

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
