import { randomBytes } from 'node:crypto'
import { requestInvalid } from '../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject, objectOf, ownField } from '../../base/json.ts'
import { type Static, Type } from '../../schema/builder.ts'
import { isCut } from '../../llm/answer.ts'
import { readReply, strictMessages } from '../../llm/history.ts'
import type { CountedReply } from '../../service/chat/models.ts'
import { nullable } from '../schemas.ts'
import type { RequestBytes } from '../../llm/model-request.ts'
import { SET_BY_PROMPTS } from '../../service/chat/prepare-chat.ts'
import { MAX_MESSAGES } from '../prompt-request.ts'
import { passedOn } from '../validation.ts'

const variables = nullable(Type.Object({}, { additionalProperties: true }), { description: 'Values for the template of the prompt that model names' })

export const CompletionBody = Type.Object({
  model: nullable(Type.String(), { description: 'A model, or `prompt:{id}` for a registered prompt; `prompt:{id}@production` and `prompt:{id}@7` for what a label means and for a version' }),
  messages: nullable(Type.Array(Type.Object({ role: Type.String() }, { additionalProperties: true }), { maxItems: MAX_MESSAGES })),
  stream: nullable(Type.Boolean()),
  prompt: nullable(Type.Object({
    id: Type.String({ minLength: 1, maxLength: 512 }),
    version: nullable(Type.Union([Type.String({ pattern: '^[1-9][0-9]{0,14}$' }), Type.Integer({ minimum: 1, maximum: 1e15 - 1 })]), { description: 'A version of it' }),
    variables,
    revision: nullable(Type.String(), { description: 'Answer 409 when the prompt is at another revision' })
  }, { additionalProperties: false }), { description: 'A registered prompt; messages are appended to its own' }),
  variables,
  fallbacks: nullable(Type.Array(Type.String({ minLength: 1 }), { maxItems: 20 }), { description: 'Models to ask when the first one fails' })
}, { additionalProperties: true, examples: [{ model: 'prompt:greet', variables: { name: 'Ada' } }] })

export const EmbeddingsBody = Type.Object({ model: nullable(Type.String()) }, {
  additionalProperties: true,
  examples: [{ model: 'text-embedding-3-small', input: 'Hello' }]
})

export interface PromptCall {
  readonly id: string
  readonly version: number | undefined
  readonly revision: string | undefined
  readonly variables: JsonObject
  readonly conversation: readonly JsonObject[]
  readonly fields: JsonObject
}

const PROMPT_MODEL = 'prompt:'

const OWN: ReadonlySet<string> = new Set(['prompt', 'variables', 'messages'])
const OWN_AND_MODEL: ReadonlySet<string> = new Set([...OWN, 'model'])

/** `undefined` when the request goes to the model unchanged. @throws REQUEST_INVALID when it names two prompts */
export function readPromptCall (body: Static<typeof CompletionBody>): PromptCall | undefined {
  const { prompt, variables, model: given, messages } = body
  const model = given ?? ''
  const named = model.startsWith(PROMPT_MODEL) ? model.slice(PROMPT_MODEL.length) : undefined
  const id = prompt?.id ?? named
  if (id === undefined) return undefined
  if (named !== undefined && named !== id) throw requestInvalid(`body: model names prompt "${named}", prompt.id names "${id}"`, { part: 'body' })
  return {
    id,
    version: prompt?.version == null ? undefined : Number(prompt.version),
    revision: prompt?.revision ?? undefined,
    variables: (prompt?.variables ?? variables ?? {}) as JsonObject,
    conversation: (messages ?? []) as readonly JsonObject[],
    // A model beside a prompt replaces the prompt's own, as every field of the request does.
    fields: passedOn(body, named === undefined && model !== '' ? OWN : OWN_AND_MODEL)
  }
}

/** No such request is for a model as it is; each of them may be null. */
const NOT_PASSED_ON = ['prompt', 'variables', 'fallbacks']

/** Whether it fits `CompletionBody`, names no prompt, and has nothing of the service's own: then nobody needs it as an object. */
export function isForModel (body: RequestBytes): boolean {
  const { messageCount = body.lacks('messages') ? 0 : Infinity } = body
  return namesModel(body) && !String(body.get('model')).startsWith(PROMPT_MODEL) && (body.lacks('stream') || typeof body.get('stream') === 'boolean') &&
    messageCount <= MAX_MESSAGES && NOT_PASSED_ON.every(name => body.lacks(name)) && !SET_BY_PROMPTS.some(name => body.has(name))
}

export function namesModel (body: RequestBytes): boolean {
  return body.lacks('model') || typeof body.get('model') === 'string'
}

const NO_REFERENCES = 'is an item_reference, and no responses are stored: send the item itself; ' +
  '@ai-sdk/openai does so with providerOptions: { openai: { store: false } }'

/** @param isPrompts allows only `user` and `assistant`, since the prompt has the instructions @throws REQUEST_INVALID */
function messagesFrom (input: Json, isPrompts: boolean): readonly JsonObject[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const messages: JsonObject[] = []
  for (const [index, item] of (input as readonly JsonObject[]).entries()) {
    const { type = 'message' } = item
    if (type === 'message') messages.push(messageOf(item, index, isPrompts))
    else if (type === 'function_call') addCall(messages, item)
    else if (type === 'function_call_output') messages.push(resultOf(item, index))
    else if (type === 'item_reference') throw invalid(`input.${index}`, NO_REFERENCES)
    // Reasoning is encrypted, and only the API that encrypted it can use it.
    else if (type !== 'reasoning') {
      throw invalid(`input.${index}.type`, `must be "message", "function_call" or "function_call_output", not ${JSON.stringify(type)}`)
    }
  }
  // The items stand in the order of a stream, in which a text may come between a call and its result.
  return strictMessages(messages)
}

function resultOf (item: JsonObject, index: number): JsonObject {
  return { role: 'tool', tool_call_id: item['call_id'] ?? '', content: plainText(item['output'] ?? '', `input.${index}.output`) }
}

function messageOf ({ role = 'user', content = '' }: JsonObject, index: number, isPrompts: boolean): JsonObject {
  const place = `input.${index}`
  if (isPrompts && role !== 'user' && role !== 'assistant') {
    throw invalid(`${place}.role`, 'must be "user" or "assistant": the prompt\'s publisher writes the others')
  }
  if (typeof content === 'string' || role !== 'user') return { role, content: plainText(content, `${place}.content`) }
  const parts = partsOf(content, `${place}.content`)
  const [first] = parts
  // Some APIs do not take a list of parts.
  return { role, content: parts.length === 1 && first?.['type'] === 'text' ? first['text'] as Json : parts }
}

/** All calls of one turn of the model go into one assistant message, which may have a text, too. */
function addCall (messages: JsonObject[], { call_id: id = '', name = '', arguments: text = '' }: JsonObject): void {
  const call = { id, type: 'function', function: { name, arguments: text } }
  const last = messages.at(-1)
  if (last?.['role'] !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] })
  else messages[messages.length - 1] = { ...last, tool_calls: [...(last['tool_calls'] ?? []) as readonly Json[], call] }
}

function partsOf (content: Json, place: string): readonly JsonObject[] {
  if (!Array.isArray(content)) throw invalid(place, 'must be a text or a list of parts')
  return (content as readonly Json[]).map((part, index) => partOf(objectOf(part), `${place}.${index}`))
}

function partOf (part: JsonObject, place: string): JsonObject {
  const { type, text, image_url: url, detail, file_data: data, filename, file_id: id, input_audio: audio } = part
  if (isText(part)) return { type: 'text', text: text as Json }
  if (type === 'input_image' && typeof url === 'string') return { type: 'image_url', image_url: { url, ...(typeof detail === 'string' ? { detail } : {}) } }
  if (type === 'input_file' && typeof data === 'string') {
    return { type: 'file', file: { file_data: data, ...(typeof filename === 'string' ? { filename } : {}) } }
  }
  if (type === 'input_file' && typeof id === 'string') return { type: 'file', file: { file_id: id } }
  if (type === 'input_audio' && isJsonObject(audio)) return { type, input_audio: audio }
  throw invalid(place, 'must be an input_text, an input_image with image_url, an input_file with file_data or file_id, or an input_audio')
}

function plainText (content: Json, place: string): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) throw invalid(place, 'must be a text or a list of parts')
  return (content as readonly Json[]).map((part, index) => {
    if (isJsonObject(part) && isText(part)) return part['text'] as string
    if (isJsonObject(part) && part['type'] === 'refusal' && typeof part['refusal'] === 'string') return part['refusal']
    throw invalid(`${place}.${index}`, 'must be a text: nothing else can be passed on here')
  }).join('')
}

function isText ({ type, text }: JsonObject): boolean {
  return typeof text === 'string' && (type === 'input_text' || type === 'output_text' || type === 'text')
}

function invalid (field: string, expected: string): Error {
  return requestInvalid(`body: ${field} ${expected}`, { part: 'body', field })
}

/** Fields for features that the service does not have; their harmless values do not ask for the feature. */
const REFUSED: ReadonlyArray<readonly [field: string, harmless: readonly Json[], words: string]> = [
  ['store', [false], 'must be false or left out: no response is stored'],
  ['previous_response_id', [], 'must be left out: no response is stored; send the conversation in input'],
  ['conversation', [], 'must be left out: no conversation is stored; send it in input'],
  ['background', [false], 'must be false or left out: a response is there when it is answered'],
  ['truncation', ['disabled'], 'must be "disabled" or left out: nothing of a conversation is dropped'],
  ['max_tool_calls', [], 'must be left out: it is of tools that OpenAI runs'],
  ['top_logprobs', [0], 'must be left out: POST /v1/chat/completions has log probabilities']
]

/** Not copied into the chat completion: translated or refused here, or without meaning there. */
const TAKEN: ReadonlySet<string> = new Set([
  ...REFUSED.map(([field]) => field),
  'input', 'instructions', 'tools', 'tool_choice', 'text', 'reasoning', 'max_output_tokens', 'include', 'metadata', 'stream_options'
])

/** A field of null counts as left out. @throws REQUEST_INVALID for what needs stored responses, OpenAI's own tools, or other input */
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
    // A response always has its usage, so the chat's stream must have it, too.
    ...(stream === true ? { stream_options: { include_usage: true } } : {})
  }
}

/** OpenAI allows a variable in the form of a message's text part. */
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
  const { type, ...schema } = objectOf(format)
  return {
    ...(typeof verbosity === 'string' ? { verbosity } : {}),
    ...(type === 'json_object' ? { response_format: { type } } : {}),
    ...(type === 'json_schema' ? { response_format: { type, json_schema: withoutNulls(schema) } } : {})
  }
}

export interface ResponseHead {
  readonly id: string
  /** The time of creation, in seconds since 1970. */
  readonly createdAt: number
  readonly model: string
  readonly body: JsonObject
}

export function newId (prefix: string): string {
  return `${prefix}_${randomBytes(16).toString('hex')}`
}

/** @param completion a whole chat completion, or its first chunk */
export function headOf (completion: JsonObject, body: JsonObject): ResponseHead {
  const model = [completion['model'], body['model']].find(each => typeof each === 'string') ?? ''
  return { id: newId('resp'), createdAt: Math.floor(Date.now() / 1000), model, body }
}

export function responseFrom ({ value, usage }: CountedReply, body: JsonObject): JsonObject {
  const { text, refusal, calls, finishReason, cut } = readReply(value, body)
  const parts = [...(text === '' ? [] : [textPart(text)]), ...(refusal === '' ? [] : [refusalPart(refusal)])]
  const status = cut ? 'incomplete' : 'completed'
  return finished(headOf(value, body), finishReason, [
    ...(parts.length === 0 ? [] : [messageItem(newId('msg'), parts, status)]),
    ...calls.map(({ id, name, arguments: given }) => callItem({ id: newId('fc'), callId: id, name, arguments: given }, status))
  ], usageOf(value['usage'], usage))
}

export function finished (head: ResponseHead, reason: string | undefined, output: readonly JsonObject[], usage: JsonObject | null): JsonObject {
  const end = isCut(reason)
    ? { status: 'incomplete', incomplete_details: { reason: reason === 'content_filter' ? reason : 'max_output_tokens' } }
    : { status: 'completed', incomplete_details: null }
  return { ...describe(head), ...end, output, usage }
}

export function begun (head: ResponseHead): JsonObject {
  return { ...describe(head), status: 'in_progress', incomplete_details: null, output: [], usage: null }
}

function describe ({ id, createdAt, model, body }: ResponseHead): JsonObject {
  const own = (field: string, otherwise: Json): Json => body[field] ?? otherwise
  return {
    id,
    object: 'response',
    created_at: createdAt,
    error: null,
    instructions: own('instructions', null),
    max_output_tokens: own('max_output_tokens', null),
    metadata: own('metadata', {}),
    model,
    parallel_tool_calls: own('parallel_tool_calls', true),
    previous_response_id: null,
    reasoning: own('reasoning', { effort: null, summary: null }),
    store: false,
    temperature: own('temperature', null),
    text: own('text', { format: { type: 'text' } }),
    tool_choice: own('tool_choice', 'auto'),
    tools: own('tools', []),
    top_p: own('top_p', null),
    truncation: 'disabled'
  }
}

export function textPart (text: string): JsonObject {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function refusalPart (refusal: string): JsonObject {
  return { type: 'refusal', refusal }
}

export function messageItem (id: string, content: readonly JsonObject[], status: string): JsonObject {
  return { type: 'message', id, status, role: 'assistant', content }
}

export function callItem ({ id, callId, name, arguments: text }: {
  id: string
  callId: string
  name: string
  arguments: string
}, status: string): JsonObject {
  return { type: 'function_call', id, status, call_id: callId, name, arguments: text }
}

/** Null when unknown. @param counted the service's own count, for a completion without `usage` */
export function usageOf (usage: Json | undefined, counted?: { readonly inputTokens: number, readonly outputTokens: number }): JsonObject | null {
  const given = isJsonObject(usage) ? usage : undefined
  if (given === undefined && counted === undefined) return null
  const number = (value: Json | undefined) => typeof value === 'number' ? value : 0
  const detail = (details: string, name: string) => number(ownField(given?.[details], name))
  const input = given === undefined ? counted?.inputTokens ?? 0 : number(given['prompt_tokens'])
  const output = given === undefined ? counted?.outputTokens ?? 0 : number(given['completion_tokens'])
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: detail('prompt_tokens_details', 'cached_tokens') },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: detail('completion_tokens_details', 'reasoning_tokens') },
    total_tokens: input + output
  }
}
