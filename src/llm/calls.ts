import { isJsonObject, JsonError, type JsonObject, parseJson, stringifyJson } from '../base/json.ts'
import { beginningOf } from '../base/text.ts'

// The arguments of function calls, and the texts that tell a model what came of a call.

/** The length to which an unknown function name is cut before it is repeated to the model, in UTF-16 units. */
const MAX_SHOWN_NAME = 100

/** Parses the arguments of a function call. @returns the arguments, or a text that says what is wrong with them: then the call is never made */
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
