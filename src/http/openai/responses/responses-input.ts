import { requestInvalid } from '../../../base/errors.ts'
import { isJsonObject, type Json, type JsonObject } from '../../../base/json.ts'
import { strictMessages } from '../../../llm/history.ts'

const NO_REFERENCES = 'is an item_reference, and no responses are stored: send the item itself; ' +
  '@ai-sdk/openai does so with providerOptions: { openai: { store: false } }'

/**
 * Turns the input of a request of the Responses API into the messages of a chat.
 * @param isPrompts whether the request names a registered prompt: then only the roles `user` and `assistant` are allowed, since the prompt
 * has the instructions
 * @throws REQUEST_INVALID for input that a chat completion cannot express
 */
export function messagesFrom (input: Json, isPrompts: boolean): readonly JsonObject[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  const messages: JsonObject[] = []
  for (const [index, item] of (input as readonly JsonObject[]).entries()) {
    const { type = 'message' } = item
    if (type === 'message') messages.push(messageOf(item, index, isPrompts))
    else if (type === 'function_call') addCall(messages, item)
    else if (type === 'function_call_output') messages.push(resultOf(item, index))
    else if (type === 'item_reference') throw invalid(`input.${index}`, NO_REFERENCES)
    // Items of reasoning are left out: they are encrypted, and only the API that encrypted them can use them.
    else if (type !== 'reasoning') {
      throw invalid(`input.${index}.type`, `must be "message", "function_call" or "function_call_output", not ${JSON.stringify(type)}`)
    }
  }
  // The items stand in the order of the stream that gave them, in which a text may stand between a call and what came of it.
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
  // A single text is sent as a plain string, since some APIs do not take a list of parts.
  return { role, content: parts.length === 1 && first?.['type'] === 'text' ? first['text'] as Json : parts }
}

/** Adds a function call. All calls of one turn of the model go into one message of the assistant, which may have a text, too. */
function addCall (messages: JsonObject[], { call_id: id = '', name = '', arguments: text = '' }: JsonObject): void {
  const call = { id, type: 'function', function: { name, arguments: text } }
  const last = messages.at(-1)
  if (last?.['role'] !== 'assistant') messages.push({ role: 'assistant', content: null, tool_calls: [call] })
  else messages[messages.length - 1] = { ...last, tool_calls: [...(last['tool_calls'] ?? []) as readonly Json[], call] }
}

function partsOf (content: Json, place: string): readonly JsonObject[] {
  if (!Array.isArray(content)) throw invalid(place, 'must be a text or a list of parts')
  return (content as readonly Json[]).map((part, index) => partOf(isJsonObject(part) ? part : {}, `${place}.${index}`))
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

/** Gives the content of an item as one text: the content itself if it is a text, else the joined texts of its parts. */
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

/** Makes the error for a wrong field. @param field the path of the field in the body */
export function invalid (field: string, expected: string): Error {
  return requestInvalid(`body: ${field} ${expected}`, { part: 'body', field })
}
