import { createHash } from 'node:crypto'
import { canonicalJson, isDeeper, isJsonObject, type Json, JsonError, type JsonObject, MAX_JSON_DEPTH, parseJson, stringifyJson } from '../../base/json.ts'
import { createRedactor } from '../../base/redact.ts'
import { oneAtATime } from '../../runtime/concurrency.ts'
import { createSlices } from '../../runtime/event-loop.ts'
import { createRegisteredTool, type RegisteredTool } from '../registered-tool.ts'
import { ToolError } from '../tool-error.ts'
import { logUnprepared, type ToolResources, type ToolSource, type ToolType } from '../tool-type.ts'
import { ownNames, resolveHeaders } from '../definition.ts'
import { createHttpAgent, type HttpAgent, SharedPool } from '../connections.ts'
import { expectsStructure, type Parameters, parseParameters } from '../parameters.ts'
import { compileSchema, compileSchemaLater } from '../../schema/compile.ts'
import { createMcpConnection, type McpConnection, type McpDefinition, parseMcp } from './mcp-connection.ts'
import type { ListedTool, OfferProblem } from './mcp-messages.ts'

export const mcpType: ToolType<McpDefinition> = {
  name: 'mcp',
  parse: parseMcp,
  connect (resources) {
    const { operator } = resources
    // Replies are streams, which can be silent for long: no time limit between two pieces.
    const agent = createHttpAgent(operator.egress, operator.tls, { bodyTimeout: 0 })
    const servers = new SharedPool<McpConnection>()
    return {
      open: definition => openMcpSource(definition, servers, agent, resources),
      close: () => agent.close()
    }
  }
}

function openMcpSource (definition: McpDefinition, servers: SharedPool<McpConnection>, agent: HttpAgent, resources: ToolResources): ToolSource {
  const { operator, maxReply, log, changed } = resources
  const failed = logUnprepared(definition, resources)
  const { server } = definition
  const { headers, secrets } =
    server.kind === 'http' ? resolveHeaders(definition.headers, operator.secrets, new URL(server.url).host) : { headers: {}, secrets: [] }
  const key = canonicalJson([server as unknown as Json, headers])
  const connection = servers.acquire(key, () => createMcpConnection({ server, headers, secrets, agent, commands: operator.commands, maxReply, failed }))
  let tools = new Map<string, RegisteredTool>()
  let definitions = new Map<string, McpDefinition>()
  let problems: readonly OfferProblem[] = []

  function create (discovered: McpDefinition): RegisteredTool {
    return createRegisteredTool(
      discovered,
      {
        attempted: connection.attempted,
        state: connection.state,
        call: async (values, attempt) => {
          const result = await connection.call(discovered.tool as string, values, attempt)
          const about = { tool: discovered.id, requestId: attempt.requestId }
          const warn = (reason: string) => log.warn({ ...about, reason }, 'a tool gave a result that is not as it should be')
          return { value: readMcpReply(result, discovered, secrets, maxReply, warn), secrets }
        },
        close: async () => {}
      },
      resources
    )
  }

  function take (discovered: readonly McpDefinition[]): boolean {
    definitions = new Map(discovered.map(each => [each.revision, each]))
    const next = new Map(discovered.map(each => [each.revision, tools.get(each.revision) ?? create(each)]))
    const isOther = next.size !== tools.size || [...next.keys()].some(revision => !tools.has(revision))
    tools = next
    return isOther
  }

  /** Tools whose description is unchanged stay, with their statistics and circuit breakers. */
  const discovering = oneAtATime(async () => {
    const offer = connection.offer()
    if (offer === undefined) return
    const found = definition.tool === undefined ? [...offer.problems] : []
    const discovered = await discoverTools(definition, offer.tools, (tool, reason) => found.push({ tool, reason }), definitions)
    const known = new Set(problems.map(describeProblem))
    const unheard = found.filter(problem => !known.has(describeProblem(problem)))
    for (const { tool, reason } of unheard) log.warn({ tool: definition.id, offered: tool, reason }, 'a tool of an MCP server cannot be used')
    problems = found
    if (take(discovered)) changed()
  })

  take(beforeDiscovery(definition))
  const unwatch = connection.watch(() => { void discovering.run() })
  if (connection.offer() !== undefined) void discovering.run()
  return {
    definition,
    tools: () => [...tools.values()],
    problems: () => problems.map(describeProblem),
    attempted: connection.attempted.then(() => discovering.idle()),
    state: connection.state,
    async close () {
      unwatch()
      await servers.release(key)
    }
  }
}

/** Templates can call a single tool at once, as with other protocols; the calls fail until the server is connected. */
function beforeDiscovery (definition: McpDefinition): McpDefinition[] {
  return definition.tool === undefined ? [] : [definition]
}

function describeProblem ({ tool, reason }: OfferProblem): string {
  return `its tool ${tool} cannot be used: ${reason}`
}

/** A tool that answered has done its work: a broken promise of the server is a result all the same, one of the registration a ToolError. */
export function readMcpReply (
  { structuredContent, content = [], isError }: JsonObject,
  definition: Pick<McpDefinition, 'returns' | 'wrapsResult' | 'isReturnsOffered'>,
  secrets: readonly string[],
  maxReply: number,
  warn: (what: string) => void = () => {}
): Json {
  if (!Array.isArray(content)) throw new ToolError('REPLY_INVALID', 'sent a reply that is no result of a tool: its "content" is no list')
  const blocks = (content as readonly Json[]).filter(isJsonObject).map(withNotes)
  if (isDeeper([blocks, structuredContent ?? null], MAX_JSON_DEPTH + 1)) {
    throw new ToolError('REPLY_INVALID', `sent a reply that nests deeper than ${MAX_JSON_DEPTH}`)
  }
  const hasStructure = structuredContent !== undefined && structuredContent !== null
  if (isError === true) {
    const quote = textOf(blocks) || (hasStructure ? stringifyJson(structuredContent) : stringifyJson(blocks))
    throw new ToolError('TOOL_ERROR', 'answered with an error', { quote: createRedactor(secrets)(quote).slice(0, maxReply) })
  }
  const value = hasStructure ? unwrapped(structuredContent, definition.wrapsResult) : unstructured(blocks, definition, warn)
  if (isDeeper(value, MAX_JSON_DEPTH)) throw new ToolError('REPLY_INVALID', `sent a reply that nests deeper than ${MAX_JSON_DEPTH}`)
  if (stringifyJson(value).length > maxReply) throw new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large')
  return value
}

function unwrapped (structure: Json, isWrapped: boolean | undefined): Json {
  return isWrapped === true && isJsonObject(structure) && Object.hasOwn(structure, 'result') ? structure['result'] as Json : structure
}

function unstructured (
  blocks: readonly JsonObject[],
  { returns, isReturnsOffered }: Pick<McpDefinition, 'returns' | 'isReturnsOffered'>,
  warn: (what: string) => void
): Json {
  const isOffered = returns !== undefined && isReturnsOffered === true
  if (isOffered) warn('it has an "outputSchema", and its result has no "structuredContent"')
  if (blocks.some(({ type }) => type !== 'text')) return blocks
  const text = textOf(blocks)
  if (!expectsStructure(returns)) return text
  try {
    return parseJson(text)
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    if (isOffered) return text
    throw new ToolError('REPLY_INVALID', 'sent a text that is not JSON, as its "returns" says it is')
  }
}

function textOf (blocks: readonly JsonObject[]): string {
  return blocks.flatMap(({ type, text }) => type === 'text' && typeof text === 'string' ? [text] : []).join('\n')
}

/** Neither a template nor a model can make anything of data in base64. */
function withNotes (block: JsonObject): JsonObject {
  const { type, data, resource } = block
  if (typeof data === 'string' && type !== 'text') return { type: type ?? null, ...noteOf(block, data) }
  if (!isJsonObject(resource) || typeof resource['blob'] !== 'string') return block
  return { ...block, resource: { uri: resource['uri'] ?? null, ...noteOf(resource, resource['blob']) } }
}

function noteOf ({ mimeType = 'unknown' }: JsonObject, base64: string): JsonObject {
  const bytes = Buffer.byteLength(base64, 'base64')
  return { mimeType, bytes, note: `${String(mimeType)}, ${bytes} bytes: left out` }
}

/** `known` is reused, since compiling the schemas of a hundred tools takes long; what the registration says overrides the server. */
export async function discoverTools (
  registered: McpDefinition,
  offered: readonly ListedTool[],
  rejected: (name: string, reason: string) => void,
  known: ReadonlyMap<string, McpDefinition> = new Map()
): Promise<McpDefinition[]> {
  const wanted = registered.tool === undefined ? offered : offered.filter(({ name }) => name === registered.tool)
  const byName = new Map([...wanted].sort((one, other) => (one.name < other.name ? -1 : 1)).map(tool => [tool.name, tool]))
  const functions = ownNames([...byName.keys()], name => name.replace(/[^\p{L}\p{Nd}_]/gu, '_'))
  const definitions: McpDefinition[] = []
  const slices = createSlices()
  for (const [name, tool] of byName) {
    const definition = registered.tool === undefined ? nameAmongAll(registered, name, `${registered.name}_${functions.get(name)}`) : registered
    try {
      const { description = '', inputSchema = null, outputSchema = null } = tool
      const revision = createHash('sha256')
        .update(canonicalJson([definition.revision, definition.name, name, description, inputSchema, outputSchema]))
        .digest('base64url')
      definitions.push(known.get(revision) ?? complete(definition, tool, revision, registered.tool === undefined ? compileSchemaLater : compileSchema))
    } catch (error) {
      rejected(name, (error as Error).message)
    }
    if (slices.isDue()) await slices.pause()
  }
  return definitions
}

/** Registered parameters and results are dropped, since they are not about a single tool. */
function nameAmongAll (registered: McpDefinition, tool: string, name: string): McpDefinition {
  return {
    ...registered,
    name,
    id: `${registered.id}.${tool}`,
    tool,
    standsFor: undefined,
    parameters: undefined,
    returns: undefined
  }
}

/** A whole server's schemas are compiled at the first call: of hundreds of tools hardly any is called. @throws SchemaError */
function complete (definition: McpDefinition, tool: ListedTool, revision: string, compile: typeof compileSchema): McpDefinition {
  const schema = (declared: Json | undefined): Parameters | undefined => declared === undefined ? undefined : parseParameters(declared, compile)
  const { schema: output, wrapsResult } = unwrapOutput(tool.outputSchema)
  return {
    ...definition,
    wrapsResult,
    description: definition.description === '' ? tool.description ?? '' : definition.description,
    parameters: definition.parameters ?? schema(tool.inputSchema),
    returns: definition.returns ?? schema(output),
    isReturnsOffered: definition.returns === undefined,
    revision
  }
}

/** Structured content is always an object, so FastMCP wraps other results: https://gofastmcp.com/servers/tools#output-schemas */
function unwrapOutput (schema: JsonObject | undefined): { readonly schema: Json | undefined, readonly wrapsResult: boolean } {
  const properties = isJsonObject(schema?.['properties']) ? schema['properties'] : {}
  const { result } = properties
  if (schema === undefined || !isJsonObject(result) || Object.keys(properties).length > 1) return { schema, wrapsResult: false }
  const definitions = Object.fromEntries(['$defs', 'definitions'].filter(name => Object.hasOwn(schema, name)).map(name => [name, schema[name] as Json]))
  return { schema: { ...definitions, ...result }, wrapsResult: true }
}
