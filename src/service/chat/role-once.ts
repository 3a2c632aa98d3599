import { type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { type ServerSentEvent } from '../../llm/stream/server-sent-events.ts'
import { isObject } from '../../template/value.ts'

/**
 * Lets the role through once, since every turn of a model begins with one: OpenAI's client for Python adds the texts of a
 * delta up, and would make `assistantassistant` of two. An event that loses its role keeps its data only.
 */
export class RoleOnce {
  #isTold = false

  /** The bytes of an event as the client sees it next. @param event one that the stream's judge has found to be sound */
  pass ({ data, bytes }: ServerSentEvent): Buffer {
    if (data?.includes('"role"') !== true) return bytes
    const chunk = parseChunk(data)
    const { choices = null } = chunk
    if (!Array.isArray(choices) || !choices.some(hasRole)) return bytes
    if (this.#isTold) return Buffer.from(`data: ${stringifyJson({ ...chunk, choices: choices.map(withoutRole) })}\n\n`)
    this.#isTold = true
    return bytes
  }
}

/** Nothing of an event that could not be written again, such as one with a number beyond all. */
function parseChunk (data: string): JsonObject {
  try {
    return parseJson(data) as JsonObject
  } catch (error) {
    if (error instanceof JsonError) return {}
    throw error
  }
}

function hasRole (choice: Json): boolean {
  return isObject(choice) && isObject(choice['delta'] ?? null) && Object.hasOwn(choice['delta'] as JsonObject, 'role')
}

function withoutRole (choice: Json): Json {
  if (!hasRole(choice)) return choice
  const { role: _role, ...delta } = (choice as JsonObject)['delta'] as JsonObject
  return { ...choice as JsonObject, delta }
}
