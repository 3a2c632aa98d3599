import { isJsonObject, type Json, JsonError, type JsonObject, parseJson, stringifyJson } from '../../base/json.ts'
import { type ChunkFrame, type Frame } from '../../llm/stream/frame.ts'

/**
 * Lets the `role` of a streamed answer pass only once. Every turn of a model begins with a role, but OpenAI's client for Python joins all
 * texts that it is sent, and would make `assistantassistant` of two turns. An event from which the role is removed keeps only its data.
 */
export class RoleOnce {
  #hasPassed = false

  /** The bytes that the client gets for a frame: those of the frame or, if its `role` has to be removed, those of a new one. */
  pass (frame: Frame): Buffer {
    if (frame.kind !== 'chunk' || !rolesIn(frame.chunk)) return frame.bytes
    if (this.#hasPassed) return withoutRoles(frame)
    this.#hasPassed = true
    return frame.bytes
  }
}

function rolesIn ({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.some(hasRole)
}

function hasRole (choice: Json): boolean {
  return isJsonObject(choice) && isJsonObject(choice['delta']) && Object.hasOwn(choice['delta'], 'role')
}

/** Removes the roles from a chunk (a piece of a streamed answer). The chunk's text is parsed again, so that numbers keep digits that a double would lose. */
function withoutRoles ({ bytes, data }: ChunkFrame & { readonly bytes: Buffer }): Buffer {
  const chunk = parseChunk(data)
  if (chunk === undefined) return bytes
  const { choices } = chunk
  return Buffer.from(`data: ${stringifyJson({ ...chunk, choices: (choices as Json[]).map(withoutRole) })}\n\n`)
}

/** Parses a chunk, keeping all digits of numbers; `undefined` for a chunk that could not be written as JSON again, such as one with a number out of range. */
function parseChunk (data: string): JsonObject | undefined {
  try {
    return parseJson(data) as JsonObject
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

function withoutRole (choice: Json): Json {
  if (!isJsonObject(choice) || !isJsonObject(choice['delta'])) return choice
  const { role: _role, ...delta } = choice['delta']
  return { ...choice, delta }
}
