import { type JsonObject } from '../../base/json.ts'
import { callsOf, contentOf } from '../../llm/history.ts'

/** The largest number of times that a dialogue is handed over to another agent for one message of its user. */
export const MAX_HANDOFFS = 5

/** The error that a model is told when it hands the dialogue over more often than `MAX_HANDOFFS`. */
export const TOO_MANY_HANDOFFS = `the dialogue was handed over ${MAX_HANDOFFS} times for this message; answer it yourself`

/**
 * The messages that the next agent's model is sent after a handover. Of the messages before the handover it gets only the texts, without
 * function calls: an API may refuse calls of functions that the next agent does not offer.
 * @param from number of messages before the handover
 */
export function wordsBefore (messages: readonly JsonObject[], from: number): readonly JsonObject[] {
  const before = messages.slice(0, from)
  // The former agent's texts after the user's last message are left out, since they do not answer that message.
  const asked = before.findLastIndex(({ role }) => role === 'user')
  return [...before.slice(0, asked + 1).flatMap(wordsOf), ...messages.slice(from)]
}

function wordsOf (message: JsonObject): JsonObject[] {
  const { role } = message
  if (role === 'tool' || role === 'function') return []
  if (role !== 'assistant' || callsOf(message).length === 0) return [message]
  const content = contentOf(message)
  return content === '' ? [] : [{ role, content }]
}
