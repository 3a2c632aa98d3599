import { type Json, type JsonObject } from '../../../base/json.ts'
import { parseParameters } from '../../../tool/schema/parameters.ts'
import { type CompiledSchema, SchemaError } from '../../../tool/schema/schema.ts'
import { reject } from '../../diagnostic/diagnostic.ts'

/** The chat settings of a prompt: its fields `defaults`, `returns` and `structured`, parsed and checked. */
export interface PromptChat {
  /** Fields of the OpenAI request; the caller's own fields override them. */
  readonly fields: JsonObject
  /** The models to ask when the prompt's first model fails. They replace the ones that the operator has configured for that case. */
  readonly fallbacks: readonly string[] | undefined
  /** The limit of the input, in estimated tokens; `undefined` for no limit. Above it the chat is refused, and the model is not asked. */
  readonly maxInputTokens: number | undefined
  /** The settings of a chat in which the model calls tools; `undefined` when the service offers the model no tools. */
  readonly toolLoop: ToolLoopSettings | undefined
  /** The schema that the model's answer must fit; `undefined` when any answer will do. */
  readonly answer: AnswerSchema | undefined
}

/** The settings of a tool loop (a chat in which the model calls registered tools until it answers). */
export interface ToolLoopSettings {
  /** The ids or function names of the tools; `undefined` for the tools that the prompt's own templates refer to. */
  readonly tools: readonly string[] | undefined
  /** The most calls of the model. In the last one the model is told to answer without calling tools. */
  readonly maxTurns: number
}

/** The schema of a model's answer. */
export interface AnswerSchema {
  /** The schema as the field `response_format` of the model's API. */
  readonly responseFormat: JsonObject
  readonly compiled: CompiledSchema
}

const DEFAULT_MAX_TURNS = 5

/**
 * Reads a prompt's chat settings from a prompt that fits `jsonschema/prompt.json`.
 * @param id the prompt's id, which names the answer's schema
 * @throws RejectedEntry when `structured` is asked for and `returns` is no schema
 */
export function parsePromptChat (id: string, source: JsonObject): PromptChat {
  // `stream` and `messages` are not taken from `defaults`. The caller, who reads the answer, decides whether it is streamed; the messages come from the
  // prompt's templates.
  const { fallbacks, maxInputTokens, toolLoop, stream: _stream, messages: _messages, ...fields } = (source['defaults'] ?? {}) as JsonObject
  return {
    fields,
    fallbacks: fallbacks as readonly string[] | undefined,
    maxInputTokens: maxInputTokens as number | undefined,
    toolLoop: parseToolLoop(toolLoop),
    answer: source['structured'] === true ? parseAnswer(id, source['returns']) : undefined
  }
}

function parseToolLoop (value: Json | undefined): ToolLoopSettings | undefined {
  if (value === undefined || value === false) return undefined
  const { tools, maxTurns } = (value === true ? {} : value) as { tools?: readonly string[], maxTurns?: number }
  return { tools, maxTurns: maxTurns ?? DEFAULT_MAX_TURNS }
}

function parseAnswer (id: string, returns: Json | undefined): AnswerSchema {
  if (returns === undefined || returns === null || Object.keys(returns).length === 0) {
    throw reject('RETURNS_INVALID', 'structured: true needs a JSON Schema in "returns"')
  }
  try {
    const { schema, compiled } = parseParameters(returns)
    // https://platform.openai.com/docs/api-reference/chat/create: at most 64 of these characters.
    const name = id.replace(/[^\w-]/g, '_').slice(-64)
    return { compiled, responseFormat: { type: 'json_schema', json_schema: { name, schema } } }
  } catch (error) {
    if (!(error instanceof SchemaError)) throw error
    throw reject('RETURNS_INVALID', `returns: ${error.message}`)
  }
}
