import { isDeeper, isJsonObject, type Json, type JsonObject, MAX_JSON_DEPTH } from '../../base/json.ts'
import { redactJson } from '../../base/redact.ts'
import { createSlices } from '../../runtime/slices.ts'
import { withoutNulls } from './mcp-inbox.ts'

/** A tool as an MCP server describes it. */
export interface OfferedTool {
  readonly name: string
  readonly description?: string
  readonly inputSchema?: Json | undefined
  readonly outputSchema?: JsonObject | undefined
}

/** What an MCP server offers: the tools that can be used, and why others cannot. */
export interface Offer {
  readonly tools: readonly OfferedTool[]
  readonly problems: readonly OfferProblem[]
}

/** A tool that cannot be used, by the name that the server gives to it, with the reason. */
export interface OfferProblem { readonly tool: string, readonly reason: string }

/**
 * Reads the list of tools that a server has sent. One that is wrong is left out and told, and does not keep the others from being used. The work
 * pauses often, since lists can be large. @param secrets removed from the server's texts
 */
export async function readOffer (listed: readonly Json[], limit: number, secrets: readonly string[]): Promise<Offer> {
  const tools: OfferedTool[] = []
  const problems: OfferProblem[] = []
  const slices = createSlices()
  for (const [index, tool] of listed.slice(0, limit).entries()) {
    const known = isJsonObject(tool) && !isDeeper(tool, MAX_JSON_DEPTH) ? withoutNulls(redactJson(tool, secrets) as JsonObject) : {}
    const { name, description = '', inputSchema, outputSchema } = known
    const reject = (reason: string, tool: Json = `number ${index + 1}`) => problems.push({ tool: String(tool), reason })
    if (typeof name !== 'string' || name === '') reject('expected an object with a "name", at most 100 levels deep')
    else if (typeof description !== 'string') reject('"description" is no text', name)
    else if (outputSchema !== undefined && !isJsonObject(outputSchema)) reject('"outputSchema" is no object', name)
    else tools.push({ name, description, inputSchema, outputSchema })
    if (slices.isDue()) await slices.pause()
  }
  if (listed.length > limit) problems.push({ tool: `number ${limit + 1} and further`, reason: `at most ${limit} tools of one server are used` })
  return { tools, problems }
}
