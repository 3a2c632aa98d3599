import { isJsonObject, type Json, type JsonObject } from '../../base/json.ts'

/** The text of a message. The texts of a message that is made of parts are joined. */
export function messageText ({ content = null }: JsonObject): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return (content as readonly Json[]).map(part => isJsonObject(part) && typeof part['text'] === 'string' ? part['text'] : '').join('')
}
