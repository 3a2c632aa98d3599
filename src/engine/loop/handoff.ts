import { type JsonObject } from '../../base/json.ts'
import { callsOf, contentOf } from '../shared/choice.ts'

/** How often a dialogue is handed over for one message of its user. */
export const MAX_HANDOFFS = 5

/** What the model reads that hands over once more. */
export const TOO_MANY_HANDOFFS = `the dialogue was handed over ${MAX_HANDOFFS} times for this message; answer it yourself`

/**
 * A dialogue as another agent is sent it: its words, and nothing of the calls that came before. An API may refuse calls of functions
 * that it is not offered.
 * @param from how many messages came before it was handed over
 */
export function wordsBefore (messages: readonly JsonObject[], from: number): readonly JsonObject[] {
  const before = messages.slice(0, from)
  // Of the message that is being answered the user's words alone: what was said on the way is no answer.
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
