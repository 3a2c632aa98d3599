import { type LinkedTool } from '../template/run.ts'
import { type JsonObject } from '../template/value.ts'
import { type ToolDefinition } from './definition.ts'
import { createHttpAgent } from './http-agent.ts'
import { type Operator } from './operator.ts'
import { type ToolOutcome } from './outcome.ts'
import { type CallOptions, createRegisteredTool, createResultCache, type RegisteredTool, type ToolLog } from './registered-tool.ts'
import { createRestfulConnector } from './restful-connector.ts'

export interface ToolCallerOptions {
  readonly operator: Operator
  readonly log: ToolLog
  /** Bytes of one reply. @default 1 MiB */
  readonly maxReply?: number
  /** Bytes of results kept by `cacheTtl`, all tools together. @default 32 MiB */
  readonly maxCache?: number
}

/** Calls registered tools. It holds all that outlives a call: connections, breakers, cached results, statistics. */
export interface ToolCaller {
  /**
   * Makes these the registered tools, in place of all before, and begins to connect to new ones. A definition whose
   * revision is known already keeps its tool with all it has learned. Tools that are gone can still be called by the
   * generation that began with them.
   */
  register (definitions: readonly ToolDefinition[]): readonly RegisteredTool[]
  /** Makes one call under the tool's policy, as templates do and as `POST /api/tools/{id}/call` does. Never rejects. */
  call (tool: LinkedTool, values: JsonObject, options: CallOptions): Promise<ToolOutcome>
  /** Ends all connections. */
  close (): Promise<void>
}

const MIB = 1024 * 1024

/** Makes the caller of all tools. */
export function createToolCaller ({ operator, log, maxReply = MIB, maxCache = 32 * MIB }: ToolCallerOptions): ToolCaller {
  const agent = createHttpAgent(operator.egress, maxReply)
  const surroundings = { cache: createResultCache(maxCache), log }
  const registered = new WeakMap<LinkedTool, RegisteredTool>()
  let current = new Map<string, RegisteredTool>()

  function create (definition: ToolDefinition): RegisteredTool {
    if (definition.type !== 'restful') throw new Error(`tools of type ${definition.type} are not supported`)
    return createRegisteredTool(definition, createRestfulConnector(definition, agent, operator.baseUrls, operator.secrets), surroundings)
  }

  return {
    register (definitions) {
      const next = new Map(definitions.map(definition => [definition.revision, current.get(definition.revision) ?? create(definition)]))
      for (const tool of next.values()) registered.set(tool, tool)
      current = next
      return [...next.values()]
    },
    call (tool, values, options) {
      const known = registered.get(tool)
      if (known === undefined) throw new Error(`tool ${tool.id} was never registered here`)
      return known.call(values, options)
    },
    close: () => agent.destroy()
  }
}
