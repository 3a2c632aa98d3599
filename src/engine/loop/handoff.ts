import { type JsonObject } from '../../base/json.ts'
import { callsOf, contentOf } from '../shared/choice.ts'

/** How often a dialogue is handed over for one message of its user. */
export const MAX_HANDOFFS = 5

/** The error for a model that hands the dialogue over more often than `MAX_HANDOFFS`. */
export const TOO_MANY_HANDOFFS = `the dialogue was handed over ${MAX_HANDOFFS} times for this message; answer it yourself`

/**
 * The messages that the next agent is sent: the words from before the handover without the calls. An API may refuse calls of functions
 * that it is not offered.
 * @param from how many messages came before the handover
 */
export function wordsBefore (messages: readonly JsonObject[], from: number): readonly JsonObject[] {
  const before = messages.slice(0, from)
  // What the former agent said after the user's last message is left out: it is no answer to that message.
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
