import { type Tool } from '@modelcontextprotocol/client'
import { createHash } from 'node:crypto'
import { canonicalJson, type Json } from '../../base/json.ts'
import { type McpDefinition } from './mcp-definition.ts'
import { createSlices } from '../../runtime/slices.ts'
import { type Parameters, parseParameters } from '../schema/parameters.ts'
import { compileSchema, compileSchemaLater } from '../schema/schema.ts'

/**
 * Makes the definitions of the tools that a registration stands for, from the list that its server offers: one tool by its name or, for a
 * registration of the whole server, all tools as `{function name}_{tool}`. What the registration says itself overrides the server. The work
 * pauses often, so that the process can do other work.
 * @param rejected called with each tool that cannot be used
 * @param known definitions made from an earlier list, by revision; they are reused, since compiling the schemas of a hundred tools takes long
 */
export async function discoverTools (
  registered: McpDefinition,
  offered: readonly Tool[],
  rejected: (name: string, reason: string) => void,
  known: ReadonlyMap<string, McpDefinition> = new Map()
): Promise<McpDefinition[]> {
  const wanted = registered.tool === undefined ? offered : offered.filter(({ name }) => name === registered.tool)
  const named = new Map<string, McpDefinition>()
  const slices = createSlices()
  for (const tool of [...wanted].sort((one, other) => (one.name < other.name ? -1 : 1))) {
    const definition = registered.tool === undefined ? nameAmongAll(registered, tool) : registered
    try {
      if (named.has(definition.name)) throw new Error(`another tool is called ${definition.name} already`)
      const revision = createHash('sha256')
        .update(canonicalJson([definition.revision, tool as unknown as Json]))
        .digest('base64url')
      named.set(
        definition.name,
        known.get(revision) ?? complete(definition, tool, revision, registered.tool === undefined ? compileSchemaLater : compileSchema)
      )
    } catch (error) {
      rejected(tool.name, (error as Error).message)
    }
    if (slices.isDue()) await slices.pause()
  }
  return [...named.values()]
}

/**
 * Makes the definition of one tool, from the registration of a whole server. Parameters and results in the server's registration are dropped,
 * since they are not about a single tool.
 */
function nameAmongAll (registered: McpDefinition, tool: Tool): McpDefinition {
  const suffix = tool.name.replace(/[^\p{L}\p{Nd}_]/gu, '_')
  return {
    ...registered,
    name: `${registered.name}_${suffix}`,
    id: `${registered.id}.${tool.name}`,
    tool: tool.name,
    standsFor: undefined,
    parameters: undefined,
    returns: undefined
  }
}

/**
 * Completes a tool's definition with the description and schemas that the server offers.
 * @param compile compiles schemas at once or, for a whole server, at the first call: of hundreds of tools hardly any is ever called
 * @throws SchemaError
 */
function complete (definition: McpDefinition, tool: Tool, revision: string, compile: typeof compileSchema): McpDefinition {
  const schema = (declared: unknown): Parameters | undefined => declared === undefined ? undefined : parseParameters(declared as Json, compile)
  const { schema: output, wrapsResult } = unwrapOutput(tool.outputSchema)
  return {
    ...definition,
    wrapsResult,
    description: definition.description === '' ? tool.description ?? '' : definition.description,
    parameters: definition.parameters ?? schema(tool.inputSchema),
    returns: definition.returns ?? schema(output),
    revision
  }
}

/**
 * Finds the schema of a tool's real result. Structured content in MCP is always an object, so servers wrap other results: FastMCP gives
 * `{"result": X}` for a function that returns X (https://gofastmcp.com/servers/tools#output-schemas).
 */
function unwrapOutput (schema: Tool['outputSchema']): { readonly schema: unknown, readonly wrapsResult: boolean } {
  const properties = (schema?.properties ?? {}) as Readonly<Record<string, object>>
  if (!Object.hasOwn(properties, 'result') || Object.keys(properties).length > 1) return { schema, wrapsResult: false }
  const definitions = Object.fromEntries(
    ['$defs', 'definitions'].filter(name => Object.hasOwn(schema as object, name)).map(name => [name, (schema as Record<string, unknown>)[name]])
  )
  return { schema: { ...definitions, ...properties['result'] }, wrapsResult: true }
}
