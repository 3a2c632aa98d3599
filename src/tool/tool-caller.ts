import type { Activity } from '../observe/activity.ts'
import type { Log } from '../runtime/telemetry.ts'
import { type LinkedTool, type ToolCall } from '../template/template-function.ts'
import { type JsonObject } from '../base/json.ts'
import { type ToolDefinition } from './definition.ts'
import { type Operator } from './operator.ts'
import { type ToolCallOptions, type RegisteredTool, ResultCache, type ToolOutcome } from './registered-tool.ts'
import { type PreparationState } from './preparation.ts'
import type { ToolSource, ToolType } from './tool-type.ts'

export interface ToolCallerOptions {
  readonly types: readonly ToolType[]
  readonly operator: Operator
  readonly log: Log
  /** Called when an MCP server's tools have changed; the same definitions then have to be registered again. */
  readonly changed?: () => void
  /** In bytes. @default 1 MiB */
  readonly maxReply?: number
  /** In bytes, of all tools together. @default 32 MiB */
  readonly maxCache?: number
}

/** Keeps all that outlives a tool's call: connections, circuit breakers, cached results, statistics. */
export interface ToolCaller {
  /** An unchanged revision keeps its connections and statistics. A directly registered tool wins over an MCP server's of the same name. */
  register (definitions: readonly ToolDefinition[]): readonly RegisteredTool[]
  /** Never rejects: a failure is an outcome. */
  call (tool: LinkedTool, values: JsonObject, options: ToolCallOptions): Promise<ToolOutcome>
  recall (call: ToolCall, activity: Activity | undefined): ToolOutcome | undefined
  cacheStatistics (): ReturnType<ResultCache['statistics']>
  states (): ReadonlyMap<string, PreparationState>
  problems (id: string): readonly string[]
  prepared (milliseconds: number): Promise<void>
  close (): Promise<void>
}

const MIB = 1024 * 1024

/** In ms, that a removed tool's connections stay open: longer than a render, unless `RENDER_TIMEOUT_MS` is very high. */
const RETIREMENT = 30_000

export function createToolCaller ({ types, operator, log, changed = () => {}, maxReply = MIB, maxCache = 32 * MIB }: ToolCallerOptions): ToolCaller {
  const cache = new ResultCache(maxCache)
  const connections = new Map(types.map(type => [type.name, type.connect({ operator, log, maxReply, changed, cache })]))
  /** A compiled template holds the tool only as a `LinkedTool`. */
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
