import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { passedOn } from '../../base/closed-requests.ts'
import { invalid, messagesFrom } from './responses-input.ts'

/**
 * Fields that ask for features which the service does not have. Each has the values that are allowed all the same, since they do not ask for
 * the feature.
 */
const REFUSED: ReadonlyArray<readonly [field: string, harmless: readonly Json[], words: string]> = [
  ['store', [false], 'must be false or left out: no response is stored'],
  ['previous_response_id', [], 'must be left out: no response is stored; send the conversation in input'],
  ['conversation', [], 'must be left out: no conversation is stored; send it in input'],
  ['background', [false], 'must be false or left out: a response is there when it is answered'],
  ['truncation', ['disabled'], 'must be "disabled" or left out: nothing of a conversation is dropped'],
  ['max_tool_calls', [], 'must be left out: it is of tools that OpenAI runs'],
  ['top_logprobs', [0], 'must be left out: POST /v1/chat/completions has log probabilities']
]

/** Fields that are not copied into the chat completion request: this file translates or refuses them, or they mean nothing there. */
const TAKEN: ReadonlySet<string> = new Set([
  ...REFUSED.map(([field]) => field),
  'input', 'instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'max_output_tokens', 'include', 'metadata', 'stream_options'
])

/**
 * Turns a request of the Responses API into one of chat completions, which may name a registered prompt. Fields that both APIs share stay
 * unchanged; a field of null counts as left out.
 * @throws REQUEST_INVALID for requests that need stored responses or OpenAI's own tools, and for input that a chat completion cannot
 * express
 */
export function completionRequest (body: JsonObject): JsonObject {
  const given = withoutNulls(body)
  for (const [field, harmless, words] of REFUSED) if (Object.hasOwn(given, field) && !harmless.includes(given[field] as Json)) throw invalid(field, words)
  const { input, instructions, model, prompt, stream, max_output_tokens: limit, tools = [] } = given
  const isPrompts = prompt !== undefined || (typeof model === 'string' && model.startsWith('prompt:'))
  if (isPrompts && instructions !== undefined) throw invalid('instructions', 'must be left out with a prompt, whose publisher writes them')
  if (!isPrompts && input === undefined) throw invalid('input', 'is missing: a text or messages, unless a prompt is named')
  const declared = (tools as readonly JsonObject[]).map(declare)
  return {
    ...passedOn(given, TAKEN),
    ...(isJsonObject(prompt) ? { prompt: withPlainVariables(prompt) } : {}),
    messages: [
      ...(instructions === undefined ? [] : [{ role: 'system', content: instructions }]),
      ...(input === undefined ? [] : messagesFrom(input, isPrompts))
    ],
    ...(declared.length === 0 ? {} : { tools: declared }),
    ...(given['tool_choice'] === undefined ? {} : { tool_choice: choiceOf(given['tool_choice']) }),
    ...(limit === undefined ? {} : { max_completion_tokens: limit }),
    ...formatOf(given['text']),
    ...(isJsonObject(given['reasoning']) && typeof given['reasoning']['effort'] === 'string' ? { reasoning_effort: given['reasoning']['effort'] } : {}),
    // A response always has its usage, so the stream of the chat must have it too.
    ...(stream === true ? { stream_options: { include_usage: true } } : {})
  }
}

/** Replaces each variable that has the form of a text part of a message, as OpenAI allows, by the text of that part. */
function withPlainVariables (prompt: JsonObject): JsonObject {
  const { variables } = prompt
  if (!isJsonObject(variables)) return prompt
  return { ...prompt, variables: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, plainVariable(value)])) }
}

function plainVariable (value: Json): Json {
  return isJsonObject(value) && value['type'] === 'input_text' && typeof value['text'] === 'string' ? value['text'] : value
}

function declare ({ type, name = '', description, parameters, strict }: JsonObject, index: number): JsonObject {
  if (type !== 'function') {
    throw invalid(`tools.${index}.type`, `must be "function": tools of OpenAI's own are not offered, such as ${JSON.stringify(type ?? null)}`)
  }
  const members = Object.entries({ name, description, parameters, strict })
    .filter((entry): entry is [string, Json] => entry[1] !== undefined && entry[1] !== null)
  return { type, function: Object.fromEntries(members) }
}

function choiceOf (choice: Json): Json {
  if (typeof choice === 'string') return choice
  if (isJsonObject(choice) && choice['type'] === 'function') return { type: 'function', function: { name: choice['name'] ?? '' } }
  throw invalid('tool_choice', 'must be "auto", "none", "required" or {"type": "function", "name": …}')
}

function withoutNulls (members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== null))
}

function formatOf (text: Json | undefined): JsonObject {
  if (!isJsonObject(text)) return {}
  const { format, verbosity } = text
  const { type, ...schema } = isJsonObject(format) ? format : {}
  return {
    ...(typeof verbosity === 'string' ? { verbosity } : {}),
    ...(type === 'json_object' ? { response_format: { type } } : {}),
    ...(type === 'json_schema' ? { response_format: { type, json_schema: withoutNulls(schema) } } : {})
  }
}
