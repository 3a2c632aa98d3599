import { type JsonObject } from '../../base/json.ts'

/**
 * The end of a dialogue that a model is sent: the last messages, all from the user's last one on (a model that has lost the
 * question answers another), and no result of a tool without its call, which APIs refuse.
 */
export function lastMessages (messages: readonly JsonObject[], most: number): readonly JsonObject[] {
  const question = messages.findLastIndex(({ role }) => role === 'user')
  const start = Math.max(0, messages.length - most)
  if (question >= 0 && question <= start) return messages.slice(question)
  const first = messages.findIndex(({ role }, index) => index >= start && role !== 'tool' && role !== 'function')
  return first < 0 ? [] : messages.slice(first)
}
