import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'
import { type ModelRequest } from '../model-client.ts'
import { openAiError, UpstreamRefusal } from '../upstream-error.ts'

/** The messages of a request for a chat. @throws UpstreamRefusal when the request has no messages */
export function messagesOf (request: ModelRequest): readonly JsonObject[] {
  const messages = Object.hasOwn(request, 'messages') ? request['messages'] : undefined
  if (!Array.isArray(messages) || messages.length === 0 || !messages.every(isJsonObject)) {
    throw new UpstreamRefusal(400, openAiError('messages must be a list with at least one message', 'invalid_request_error', null))
  }
  return messages as readonly JsonObject[]
}

/** The text of a message: its content, or the texts of all its parts one after the other. */
export function textOf (message: JsonObject | undefined): string {
  const content = message?.['content'] ?? ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.map((part: Json) => isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '').join('')
}
