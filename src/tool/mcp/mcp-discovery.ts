import { createHash } from 'node:crypto'
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { ownNames } from '../definition/own-names.ts'
import { type McpDefinition } from './mcp-definition.ts'
import { type OfferedTool } from './mcp-offer.ts'
import { createSlices } from '../../runtime/slices.ts'
import { type Parameters, parseParameters } from '../schema/parameters.ts'
import { compileSchema, compileSchemaLater } from '../schema/schema.ts'

/**
 * Makes the definitions of the tools that a registration stands for, from the list that its server offers: one tool by its name or, for a
 * registration of the whole server, all tools as `{function name}_{tool}`. Tools whose names become one get names of their own. What the
 * registration says itself overrides the server. The work pauses often, so that the process can do other work.
 * @param rejected called with each tool that cannot be used
 * @param known definitions made from an earlier list, by revision; they are reused, since compiling the schemas of a hundred tools takes long
 */
export async function discoverTools (
  registered: McpDefinition,
  offered: readonly OfferedTool[],
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

/**
 * Makes the definition of one tool, from the registration of a whole server. Parameters and results in the server's registration are dropped,
 * since they are not about a single tool.
 */
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

/**
 * Completes a tool's definition with the description and schemas that the server offers.
 * @param compile compiles schemas at once or, for a whole server, at the first call: of hundreds of tools hardly any is ever called
 * @throws SchemaError
 */
function complete (definition: McpDefinition, tool: OfferedTool, revision: string, compile: typeof compileSchema): McpDefinition {
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

/**
 * Finds the schema of a tool's real result. Structured content in MCP is always an object, so servers wrap other results: FastMCP gives
 * `{"result": X}` for a function that returns X (https://gofastmcp.com/servers/tools#output-schemas).
 */
function unwrapOutput (schema: JsonObject | undefined): { readonly schema: Json | undefined, readonly wrapsResult: boolean } {
  const properties = isJsonObject(schema?.['properties']) ? schema['properties'] : {}
  const { result } = properties
  if (schema === undefined || !isJsonObject(result) || Object.keys(properties).length > 1) return { schema, wrapsResult: false }
  const definitions = Object.fromEntries(['$defs', 'definitions'].filter(name => Object.hasOwn(schema, name)).map(name => [name, schema[name] as Json]))
  return { schema: { ...definitions, ...result }, wrapsResult: true }
}
