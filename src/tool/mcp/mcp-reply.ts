import { type CallToolResult } from '@modelcontextprotocol/client'
import { isDeeper, type Json, JsonError, type JsonObject, MAX_JSON_DEPTH, parseJson, stringifyJson } from '../../base/json.ts'
import { type McpDefinition } from './mcp-definition.ts'
import { expectsStructure } from '../schema/parameters.ts'
import { createRedactor } from '../../base/redact.ts'
import { ToolError } from '../call/tool-error.ts'

/**
 * Reads the result of an MCP tool: its structured content if there is any, else its text. The text is parsed as JSON if `returns` declares
 * a type other than `string`. A result with other content than text is returned as the list of its blocks.
 * @throws ToolError for a result that the server marks as an error, or that nests too deep or is too large
 */
export function readMcpReply (
  result: CallToolResult,
  { returns, wrapsResult }: Pick<McpDefinition, 'returns' | 'wrapsResult'>,
  secrets: readonly string[],
  maxReply: number
): Json {
  const { structuredContent, content } = result
  const texts = content.flatMap(block => (block.type === 'text' ? [block.text] : []))
  const text = texts.join('\n')
  if (result.isError === true) throw new ToolError('TOOL_ERROR', 'answered with an error', { quote: createRedactor(secrets)(text).slice(0, 200) })
  const value =
    structuredContent !== undefined
      ? unwrapped(structuredContent as JsonObject, wrapsResult)
      : texts.length < content.length
        ? (content as unknown as Json)
        : expectsStructure(returns)
          ? parseText(text)
          : text
  if (isDeeper(value, MAX_JSON_DEPTH)) throw new ToolError('REPLY_INVALID', `sent a reply that nests deeper than ${MAX_JSON_DEPTH}`)
  if (stringifyJson(value).length > maxReply) throw new ToolError('REPLY_TOO_LARGE', 'sent a reply that is too large')
  return value
}

function unwrapped (structure: JsonObject, isWrapped: boolean | undefined): Json {
  return isWrapped === true && Object.hasOwn(structure, 'result') ? structure['result'] as Json : structure
}

function parseText (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) throw new ToolError('REPLY_INVALID', 'sent a text that is not JSON, as its "returns" says it is')
    throw error
  }
}
