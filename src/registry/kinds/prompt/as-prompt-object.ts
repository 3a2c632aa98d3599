import { type Json, type JsonObject } from '../../../base/json.ts'
import { reject } from '../../diagnostic/diagnostic.ts'

/**
 * Gives a stored prompt as an object. Publishers store a prompt as an object, as a bare text or as a bare list of messages.
 * @throws RejectedEntry for anything else, and for an empty text
 */
export function asPromptObject (value: Json): JsonObject {
  if (typeof value === 'string') {
    if (value.trim() === '') throw reject('VALUE_INVALID', 'the template is empty')
    return { userPrompt: value }
  }
  if (Array.isArray(value)) return { messages: value }
  if (typeof value === 'object' && value !== null) return value as JsonObject
  throw reject('VALUE_INVALID', `a prompt must be an object, a message list or a text, not ${value === null ? 'null' : `a ${typeof value}`}`)
}
