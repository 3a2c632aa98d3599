import { isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'

/** A name that a model has made up is repeated to it up to this length, in UTF-16 units. */
const MAX_SHOWN_NAME = 100

/** A call of a tool as a model asks for it. */
export interface AskedCall {
  readonly id: Json
  /** The name of the function; empty when the model gave none. */
  readonly name: string
  /** The arguments as JSON text, as the model wrote them. */
  readonly arguments: string
  /** Whether the model asked by a `function_call`: the result then goes back as a message of the role `function`. */
  readonly isOlder?: true
}

/** The message of a model's answer, `choices[0].message`; `undefined` when the answer has none. */
export function messageOf (completion: Json): JsonObject | undefined {
  if (!isJsonObject(completion)) return undefined
  const { choices } = completion
  const choice = Array.isArray(choices) ? choices[0] as Json | undefined : undefined
  const message = isJsonObject(choice) ? choice['message'] : undefined
  return isJsonObject(message) ? message : undefined
}

/** The text of a message; empty where it has none. */
export function contentOf (message: JsonObject): string {
  const { content } = message
  return typeof content === 'string' ? content : ''
}

/** The calls that a message asks for, in its order; the one call of the older dialect, `function_call`, too. */
export function callsOf (message: JsonObject): AskedCall[] {
  const calls = toolCallsOf(message)
  if (calls.length > 0) return calls.map(call => ({ id: call['id'] ?? null, ...readFunction(call['function']) }))
  const { function_call: older } = message
  return isJsonObject(older) ? [{ id: null, ...readFunction(older), isOlder: true }] : []
}

/** A model's message with calls, as later requests repeat it, in the dialect that the model used. */
export function askedMessage (message: JsonObject): JsonObject {
  const { content = null, function_call: older = null } = message
  const calls = toolCallsOf(message)
  return { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : { function_call: older }) }
}

/** A message as words, so that it can be sent back without the results that APIs want of calls. */
export function wordsOf (message: JsonObject | undefined): string {
  if (message === undefined) return ''
  return [contentOf(message), ...callsOf(message).map(({ name, arguments: given }) => `${name} ${given}`)].join('\n')
}

/** The result of a call as the model is sent it. */
export function resultMessage ({ id, name, isOlder }: Pick<AskedCall, 'id' | 'name' | 'isOlder'>, content: string): JsonObject {
  return isOlder === true ? { role: 'function', name, content } : { role: 'tool', tool_call_id: id, content }
}

function toolCallsOf ({ tool_calls: calls }: JsonObject): JsonObject[] {
  return Array.isArray(calls) ? calls.filter(isJsonObject) : []
}

/** The name and the arguments of a call. Some APIs of the older dialect give the arguments as an object. */
function readFunction (called: Json | undefined): Pick<AskedCall, 'name' | 'arguments'> {
  const { name, arguments: given } = isJsonObject(called) ? called : {}
  return { name: typeof name === 'string' ? name : '', arguments: typeof given === 'string' ? given : isJsonObject(given) ? stringifyJson(given) : '' }
}

/** Reads the arguments of a call: an object, or what is wrong with the text. */
export function parseArguments (text: string): JsonObject | string {
  if (text.trim() === '') return {}
  try {
    const value = parseJson(text)
    return isJsonObject(value) ? value : 'the arguments are not a JSON object'
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return `the arguments are not JSON: ${error.message}`
  }
}

/** A result as the content of a message for the model. */
export function describeResult (value: unknown): string {
  return typeof value === 'string' ? value : stringifyJson(value)
}

/** The content of the message that tells a model why its call failed, so that it can go on without the result. */
export function describeError (reason: string): string {
  return stringifyJson({ error: reason })
}

/** The message to a model that called a function which it was not offered. */
export function unknownFunction (name: string): string {
  return `there is no function ${JSON.stringify(beginningOf(name, MAX_SHOWN_NAME))}`
}
