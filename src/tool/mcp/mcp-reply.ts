import { isDeeper, isJsonObject, type Json, JsonError, type JsonObject, MAX_JSON_DEPTH, parseJson, stringifyJson } from '../../base/json.ts'
import { type McpDefinition } from './mcp-definition.ts'
import { expectsStructure } from '../schema/parameters.ts'
import { createRedactor } from '../../base/redact.ts'
import { ToolError } from '../call/tool-error.ts'

/**
 * Reads the result of an MCP tool: its structured content if there is any, else its text. The text is parsed as JSON if `returns` declares
 * a type other than `string`. A result with other content than text is returned as the list of its blocks, in which notes stand for pictures, sound
 * and binary files. A tool that has answered has done its work, so a result that breaks a promise of the server is a result all the same.
 * @param warn called with what is wrong with a result that is taken nevertheless
 * @throws ToolError for a result that the server marks as an error, that breaks a promise of the registration, or that nests too deep or is too large
 */
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

/** A block with a note in the place of data in base64, of which neither a template nor a model can make anything. */
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
