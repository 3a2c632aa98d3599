import type { Activity, Log } from '../runtime/telemetry.ts'
import { type LinkedTool, type ToolCall } from '../template/template-function.ts'
import { type JsonObject } from '../base/json.ts'
import { type ToolDefinition } from './definition.ts'
import { type Operator } from './operator.ts'
import { type CallOptions, type RegisteredTool, ResultCache, type ToolOutcome } from './registered-tool.ts'
import { type PreparationState } from './preparation.ts'
import type { ToolSource, ToolType } from './tool-type.ts'

export interface ToolCallerOptions {
  /** The types of tools that can be registered, one for each protocol (HTTP, gRPC, MCP). */
  readonly types: readonly ToolType[]
  readonly operator: Operator
  readonly log: Log
  /** Called when an MCP server offers other tools than before. To get these, the same definitions have to be registered again. */
  readonly changed?: () => void
  /** The largest size of a reply, in bytes. @default 1 MiB */
  readonly maxReply?: number
  /** The largest total size of cached results, of all tools together, in bytes. @default 32 MiB */
  readonly maxCache?: number
}

/** The tool caller calls registered tools. It keeps all that outlives a call: connections, circuit breakers, cached results, statistics. */
export interface ToolCaller {
  /**
   * Makes these definitions the registered tools, in place of all earlier ones, and begins to connect to the new ones. A definition that has
   * not changed (has the same revision) keeps its tools, with their connections and statistics. If a tool of an MCP server has the same name
   * as a tool that is registered itself, the latter is used. Renders that began before a tool was removed can call it for `RETIREMENT` ms.
   */
  register (definitions: readonly ToolDefinition[]): readonly RegisteredTool[]
  /** Calls a tool once by its policy, for templates and for `POST /api/tools/{id}/call`. Never rejects: a failure is an outcome. */
  call (tool: LinkedTool, values: JsonObject, options: CallOptions): Promise<ToolOutcome>
  /** The cached outcome of a call of the same tool with the same arguments; `undefined` when the call has to be made. */
  recall (call: ToolCall, activity: Activity | undefined): ToolOutcome | undefined
  /** The statistics of the cache of results. */
  cacheStatistics (): ReturnType<ResultCache['statistics']>
  /** The state (preparing, ready, failed) of each registered tool or MCP server, by its id. */
  states (): ReadonlyMap<string, PreparationState>
  /** What is wrong with the tools that an MCP server offers, by the id of its registration. */
  problems (id: string): readonly string[]
  /** Waits until the first attempt to connect to each registered tool has succeeded or failed. @param milliseconds the longest wait */
  prepared (milliseconds: number): Promise<void>
  /** Closes all connections, and ends all processes of MCP servers. */
  close (): Promise<void>
}

const MIB = 1024 * 1024

/** The time for which the connections of a removed tool stay open, in ms: longer than a render takes unless `RENDER_TIMEOUT_MS` is set very high. */
const RETIREMENT = 30_000

/** Makes a `ToolCaller`, with a cache of results for all tools, and with what the tools of one type share, such as connections. */
export function createToolCaller ({ types, operator, log, changed = () => {}, maxReply = MIB, maxCache = 32 * MIB }: ToolCallerOptions): ToolCaller {
  const cache = new ResultCache(maxCache)
  const connections = new Map(types.map(type => [type.name, type.connect({ operator, log, maxReply, changed, cache })]))
  /** Every tool that was ever registered, with the same object as key and value: a compiled template holds the tool only as a `LinkedTool`. */
  const registered = new WeakMap<LinkedTool, RegisteredTool>()
  const retired = new Map<ToolSource, NodeJS.Timeout>()
  let sources = new Map<string, ToolSource>()

  function open (definition: ToolDefinition): ToolSource {
    const connection = connections.get(definition.type)
    if (connection === undefined) throw new Error(`there is no type of tools "${definition.type}"`)
    return connection.open(definition)
  }

  function retire (source: ToolSource): void {
    retired.set(source, setTimeout(() => {
      retired.delete(source)
      source.close().catch((error: Error) => log.warn({ tool: source.definition.id, reason: error.message }, 'a tool could not be closed'))
    }, RETIREMENT).unref())
  }

  function find (tool: LinkedTool): RegisteredTool {
    const known = registered.get(tool)
    if (known === undefined) throw new Error(`tool ${tool.id} was never registered here`)
    return known
  }

  return {
    register (definitions) {
      const next = new Map(definitions.map(definition => [definition.revision, sources.get(definition.revision) ?? open(definition)]))
      for (const [revision, source] of sources) if (!next.has(revision)) retire(source)
      sources = next
      const tools = withoutShadowed([...sources.values()])
      for (const tool of tools) registered.set(tool, tool)
      return tools
    },
    call (tool, values, options) {
      return find(tool).call(values, options)
    },
    recall: ({ tool, key }, activity) => find(tool).recall(key, activity),
    cacheStatistics: () => cache.statistics(),
    states: () => new Map(Array.from(sources.values(), source => [source.definition.id, source.state()])),
    problems: id => [...sources.values()].find(({ definition }) => definition.id === id)?.problems?.() ?? [],
    async prepared (milliseconds) {
      let timer: NodeJS.Timeout | undefined
      const patience = new Promise<void>(resolve => { timer = setTimeout(resolve, milliseconds) })
      await Promise.race([patience, Promise.all(Array.from(sources.values(), source => source.attempted))])
      clearTimeout(timer)
    },
    async close () {
      const all = [...sources.values(), ...retired.keys()]
      for (const timer of retired.values()) clearTimeout(timer)
      retired.clear()
      sources = new Map()
      await Promise.all(all.map(source => source.close()))
      await Promise.all(Array.from(connections.values(), connection => connection.close()))
    }
  }
}

function withoutShadowed (sources: readonly ToolSource[]): RegisteredTool[] {
  const own = new Set(sources.filter(({ definition }) => definition.standsFor === undefined).map(({ definition }) => definition.name))
  const ids = new Set(sources.map(({ definition }) => definition.id))
  const taken = new Set<string>()
  return sources.flatMap(({ definition, tools }) => tools().filter(({ name, id }) => {
    if (taken.has(name) || (definition.name !== name && own.has(name)) || (definition.id !== id && ids.has(id))) return false
    taken.add(name)
    return true
  }))
}
