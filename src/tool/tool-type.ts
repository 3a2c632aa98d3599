import { type JsonObject } from '../base/json.ts'
import { type ToolContext } from './call/registered-tool.ts'
import { type ToolSource } from './call/tool-source.ts'
import { type CommonDefinition, type ToolDefinition } from './definition/definition.ts'
import { type Operator } from './operator.ts'

/** One way to reach tools: its row in the table that every loop over types reads. A type is one folder of this room and one row. */
export interface ToolType<D extends ToolDefinition = ToolDefinition> {
  /** The `type` of its registrations, and the member that may hold their endpoint. */
  readonly name: string
  /**
   * Reads how the tool is reached.
   * @param endpoint the member called as the type is, over `url` and `method` of the registration itself
   * @throws Error with the reason why this is no tool of the type
   */
  parse (common: CommonDefinition, endpoint: JsonObject, operator: Operator): D
  /** Makes what all tools of the type share, such as connections. Each is opened when a call first needs it. */
  connect (resources: ToolResources): ToolConnections<D>
}

/** What tools of one type share. */
export interface ToolConnections<D extends ToolDefinition = ToolDefinition> {
  /** Begins to connect to what a registration brings. */
  open (definition: D): ToolSource
  /** Ends what is shared, after all sources have been closed. */
  close (): Promise<void>
}

/** What connections are made with. */
export interface ToolResources extends ToolContext {
  readonly operator: Operator
  /** Bytes of one reply. */
  readonly maxReply: number
  /** To be called when a source has other tools than before. */
  readonly changed: () => void
}
