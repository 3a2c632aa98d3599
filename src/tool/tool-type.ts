import { type JsonObject } from '../base/json.ts'
import { type ToolContext } from './call/registered-tool.ts'
import { type ToolSource } from './call/tool-source.ts'
import { type CommonDefinition, type ToolDefinition } from './definition/definition.ts'
import { type Operator } from './operator.ts'

/** One type of tools, such as those over HTTP: its row in the table that every loop over types reads. A type is one folder below `src/tool` and this row. */
export interface ToolType<D extends ToolDefinition = ToolDefinition> {
  /** The `type` in registrations of such tools, and the name of the member that may hold their endpoint. */
  readonly name: string
  /**
   * Parses how the tool is reached.
   * @param endpoint the member with the type's name, and `url` and `method` of the registration itself for what that member lacks
   * @throws Error with the reason why this is no tool of the type
   */
  parse (common: CommonDefinition, endpoint: JsonObject, operator: Operator): D
  /** Makes what all tools of the type share, such as connections. Each is opened when a call first needs it. */
  connect (resources: ToolResources): ToolConnections<D>
}

/** What the tools of one type share. */
export interface ToolConnections<D extends ToolDefinition = ToolDefinition> {
  /** Begins to connect to the tools that a registration brings. */
  open (definition: D): ToolSource
  /** Ends what is shared, after all sources were closed. */
  close (): Promise<void>
}

/** What the connections of tools are made with. */
export interface ToolResources extends ToolContext {
  readonly operator: Operator
  /** The greatest size of one reply, in bytes. */
  readonly maxReply: number
  /** To be called when a source has other tools than before. */
  readonly changed: () => void
}
