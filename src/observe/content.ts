import type { Attributes } from '@opentelemetry/api'
import { isJsonObject, type Json, JsonError, type JsonObject, listOf, objectOf, parseJson, stringifyJson, textIn, textOf } from '../base/json.ts'
import { isSensitive, maskSecrets, REDACTED } from '../base/redact.ts'

// What was said, as attributes of spans in the form of OpenTelemetry's JSON schemas, made of messages in OpenAI's form:
// https://github.com/open-telemetry/semantic-conventions-genai/blob/main/docs/gen-ai/gen-ai-input-messages.json. What looks like a secret is
// replaced, and each attribute is bounded: a long text ends with a mark, and of a long conversation the oldest messages are left out.

export interface Content {
  /** Of a request. */
  input (members: Readonly<Partial<Record<'messages' | 'tools' | 'stop', Json | undefined>>>): Attributes
  output (choices: Json | undefined): Attributes
  arguments (values: JsonObject): Attributes
  /** Of a prompt that an MCP client gets. */
  variables (values: JsonObject): Attributes
  result (value: Json): Attributes
}

export const CONTENT: Content = {
  input ({ messages, tools, stop }) {
    const all = listOf(messages).map(objectOf)
    const firstOther = all.findIndex(({ role }) => role !== 'system' && role !== 'developer')
    const [instructions, others] = firstOther === -1 ? [all, []] : [all.slice(0, firstOther), all.slice(firstOther)]
    const said = new Space()
    const asked = new Space()
    const offered = new Space()
    const kept = latest(others, asked, message => ({ role: asked.text(textIn(message, 'role')), parts: partsOf(message, asked) }))
    // The conventions advise against descriptions and schemas.
    const names = offered.each(listOf(tools), tool => offered.text(textIn(objectOf(objectOf(tool)['function']), 'name')))
    const stops = offered.each(typeof stop === 'string' ? [stop] : listOf(stop), each => offered.text(textOf(each)))
    const told = said.each(instructions, message => partsOf(objectOf(message), said)).flat()
    return {
      'gen_ai.system_instructions': told.length === 0 ? undefined : stringifyJson(told),
      'gen_ai.input.messages': stringifyJson(kept),
      'gen_ai.tool.definitions': names.length === 0 ? undefined : stringifyJson(names.map(name => ({ type: 'function', name }))),
      'gen_ai.request.stop_sequences': stops.length === 0 ? undefined : stops,
      'prompt_shell.content.messages_left_out': kept.length < others.length ? others.length - kept.length : undefined,
      'prompt_shell.content.truncated': said.isCut || asked.isCut || offered.isCut ? true : undefined
    }
  },
  output (choices) {
    const space = new Space()
    const answers = space.each(listOf(choices), choice => {
      const { message, finish_reason: reason } = objectOf(choice)
      return { role: 'assistant', parts: partsOf(objectOf(message), space), finish_reason: FINISH_REASONS.get(textOf(reason)) ?? space.text(textOf(reason)) }
    })
    return { 'gen_ai.output.messages': stringifyJson(answers), ...space.told() }
  },
  arguments (values) {
    const space = new Space()
    return { 'gen_ai.tool.call.arguments': asJson(space.json(values)), ...space.told() }
  },
  variables (values) {
    const space = new Space()
    const told = Object.entries(objectOf(withoutSecrets(values))).slice(0, MAX_VARIABLES)
    return {
      ...Object.fromEntries(told.map(([name, value]) => [`gen_ai.prompt.variable.${name.slice(0, MAX_VARIABLE_NAME)}`, space.text(asJson(value))])),
      ...space.told()
    }
  },
  result (value) {
    const space = new Space()
    return { 'gen_ai.tool.call.result': asJson(space.json(value)), ...space.told() }
  }
}

/** The convention's words for OpenAI's. */
const FINISH_REASONS: ReadonlyMap<string, string> = new Map([['tool_calls', 'tool_call'], ['function_call', 'tool_call']])

/** In UTF-16 units, of the texts of one attribute; and what a message or part takes besides, so that their number is bounded too. */
const [MOST, EACH] = [32 * 1024, 32]

const MAX_VARIABLES = 100

/** In characters. */
const MAX_VARIABLE_NAME = 200

/** Counts what the texts of one attribute may still take, so that no trace grows with what a caller sends. */
class Space {
  #left = MOST
  isCut = false

  get isUsedUp (): boolean {
    return this.#left <= 0
  }

  /** Masked before it is cut: half a secret has no form to know it by. */
  text (text: string): string {
    const masked = maskSecrets(text)
    const fits = masked.length <= this.#left
    const kept = fits ? masked : `${masked.slice(0, Math.max(0, this.#left))}…[truncated]`
    this.#left -= masked.length + EACH
    this.isCut ||= !fits
    return kept
  }

  /** A value that is too long becomes the beginning of its JSON. */
  json (value: Json): Json {
    const masked = withoutSecrets(value)
    if (typeof masked === 'string') return this.text(masked)
    const text = stringifyJson(masked)
    if (text.length > this.#left) return this.text(text)
    this.#left -= text.length + EACH
    return masked
  }

  /** Leaves out those for which no space is left. */
  each<T> (values: readonly Json[], read: (value: Json) => T): T[] {
    const kept: T[] = []
    for (const value of values) {
      if (this.#left <= 0) {
        this.isCut = true
        break
      }
      kept.push(read(value))
    }
    return kept
  }

  told (): Attributes {
    return this.isCut ? { 'prompt_shell.content.truncated': true } : {}
  }
}

/** The end of a dialogue says most of a call: older messages are left out first. */
function latest<T> (messages: readonly JsonObject[], space: Space, read: (message: JsonObject) => T): T[] {
  const kept: T[] = []
  for (let index = messages.length - 1; index >= 0 && !space.isUsedUp; index--) kept.unshift(read(messages[index] as JsonObject))
  return kept
}

function partsOf (message: JsonObject, space: Space): JsonObject[] {
  const { role, content = null, refusal = null, tool_calls: calls, function_call: older } = message
  if (role === 'tool' || role === 'function') {
    return [{ type: 'tool_call_response', id: idOf(message['tool_call_id'], space), response: space.json(content) }]
  }
  const thoughts = textIn(message, 'reasoning_content') || textIn(message, 'reasoning') || textIn(message, 'thoughts')
  const written = typeof content === 'string' && content !== '' ? [content] : listOf(content)
  const asked = [...listOf(calls), ...(isJsonObject(older) ? [{ function: older }] : [])]
  return [
    ...(thoughts === '' ? [] : [{ type: 'reasoning', content: space.text(thoughts) }]),
    ...space.each(written, part => partOf(part, space)),
    ...(typeof refusal === 'string' && refusal !== '' ? [textPart(refusal, space)] : []),
    ...space.each(asked, call => callPart(objectOf(call), space))
  ]
}

function textPart (text: string, space: Space): JsonObject {
  return { type: 'text', content: space.text(text) }
}

/** Bytes are never written, only how many characters they have in Base64. */
function partOf (part: Json, space: Space): JsonObject {
  if (typeof part === 'string') return textPart(part, space)
  const { type, text, image_url: image, input_audio: sound, file } = objectOf(part)
  if (typeof text === 'string') return textPart(text, space)
  if (isJsonObject(image)) return mediaPart('image', textIn(image, 'url'), space)
  if (isJsonObject(sound)) return bytesPart('audio', `audio/${textIn(sound, 'format')}`, textIn(sound, 'data'))
  if (isJsonObject(file)) {
    const id = textIn(file, 'file_id')
    return id === '' ? mediaPart('document', textIn(file, 'file_data'), space) : { type: 'file', modality: 'document', file_id: space.text(id) }
  }
  return { type: textOf(type) || 'unknown', content: space.json(part) }
}

function mediaPart (modality: string, url: string, space: Space): JsonObject {
  const [head, type = ''] = /^data:([^;,]{0,100})/i.exec(url) ?? []
  return head === undefined ? { type: 'uri', modality, uri: space.text(url) } : bytesPart(modality, type, url.slice(url.indexOf(',') + 1))
}

function bytesPart (modality: string, type: string, base64: string): JsonObject {
  return { type: 'blob', modality, mime_type: type.slice(0, 100), content: '', left_out: base64.length }
}

function callPart ({ id, function: called }: JsonObject, space: Space): JsonObject {
  return { type: 'tool_call', id: idOf(id, space), name: space.text(textIn(called, 'name')), arguments: space.json(parsed(textIn(called, 'arguments'))) }
}

function idOf (id: Json | undefined, space: Space): Json {
  return typeof id === 'string' ? space.text(id) : null
}

function parsed (text: string): Json {
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof JsonError) return text
    throw error
  }
}

function asJson (value: Json): string {
  return typeof value === 'string' ? value : stringifyJson(value)
}

/** Also what stands under a name such as `password`. */
function withoutSecrets (value: Json): Json {
  if (typeof value === 'string') return maskSecrets(value)
  if (Array.isArray(value)) return value.map((each: Json) => withoutSecrets(each))
  if (!isJsonObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) =>
    [maskSecrets(name), typeof each === 'string' && isSensitive(name) ? REDACTED : withoutSecrets(each)]))
}
