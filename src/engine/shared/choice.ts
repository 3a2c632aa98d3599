import { isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'

/** The length to which an unknown function name is cut before it is repeated to the model, in UTF-16 units. */
const MAX_SHOWN_NAME = 100

/** A function call in an answer of a model. */
export interface AskedCall {
  readonly id: Json
  /** The name of the function; empty when the model gave none. */
  readonly name: string
  /** The arguments as JSON text, as the model wrote them. */
  readonly arguments: string
  /** Whether the model asked by the older field `function_call`. The result then goes back as a message of the role `function`. */
  readonly isOlder?: true
}

/** The message in the reply of a chat API, `choices[0].message`; `undefined` when there is none. */
export function messageOf (completion: Json): JsonObject | undefined {
  if (!isJsonObject(completion)) return undefined
  const { choices } = completion
  const choice = Array.isArray(choices) ? choices[0] as Json | undefined : undefined
  const message = isJsonObject(choice) ? choice['message'] : undefined
  return isJsonObject(message) ? message : undefined
}

/** The text of a model's message; empty when the message has none. */
export function contentOf (message: JsonObject): string {
  const { content } = message
  return typeof content === 'string' ? content : ''
}

/** The function calls in a model's message, in order; empty when there are none. The older field `function_call`, which has one call, is read too. */
export function callsOf (message: JsonObject): AskedCall[] {
  const calls = toolCallsOf(message)
  if (calls.length > 0) return calls.map(call => ({ id: call['id'] ?? null, ...readFunction(call['function']) }))
  const { function_call: older } = message
  return isJsonObject(older) ? [{ id: null, ...readFunction(older), isOlder: true }] : []
}

/** A model's message with function calls, as later requests repeat it. The calls stay in the field that the model used. */
export function askedMessage (message: JsonObject): JsonObject {
  const { content = null, function_call: older = null } = message
  const calls = toolCallsOf(message)
  return { role: 'assistant', content, ...(calls.length > 0 ? { tool_calls: calls } : { function_call: older }) }
}

/** A model's message as plain text, with its function calls as words. A model's API accepts such a text although the calls have no results. */
export function wordsOf (message: JsonObject | undefined): string {
  if (message === undefined) return ''
  return [contentOf(message), ...callsOf(message).map(({ name, arguments: given }) => `${name} ${given}`)].join('\n')
}

/** The message that gives a model the result of its function call. */
export function resultMessage ({ id, name, isOlder }: Pick<AskedCall, 'id' | 'name' | 'isOlder'>, content: string): JsonObject {
  return isOlder === true ? { role: 'function', name, content } : { role: 'tool', tool_call_id: id, content }
}

function toolCallsOf ({ tool_calls: calls }: JsonObject): JsonObject[] {
  return Array.isArray(calls) ? calls.filter(isJsonObject) : []
}

/** The name and the arguments of a function call. Some APIs that use the older `function_call` give the arguments as an object instead of a text. */
function readFunction (called: Json | undefined): Pick<AskedCall, 'name' | 'arguments'> {
  const { name, arguments: given } = isJsonObject(called) ? called : {}
  return { name: typeof name === 'string' ? name : '', arguments: typeof given === 'string' ? given : isJsonObject(given) ? stringifyJson(given) : '' }
}

/** Parses the arguments of a function call. @returns the arguments, or a text that says what is wrong with them */
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

/** A tool's result as the content of a message to the model. */
export function describeResult (value: unknown): string {
  return typeof value === 'string' ? value : stringifyJson(value)
}

/** The content of the message that tells a model why its function call failed, so that the model can go on without the result. */
export function describeError (reason: string): string {
  return stringifyJson({ error: reason })
}

/** The text that tells a model that it called a function which it was not offered. */
export function unknownFunction (name: string): string {
  return `there is no function ${JSON.stringify(beginningOf(name, MAX_SHOWN_NAME))}`
}
