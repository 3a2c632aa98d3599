import { type JsonObject } from '../../base/json.ts'
import { type SkillState } from './skill-state.ts'

/**
 * What the model is sent: the system prompt and all of the dialogue, or its last messages. What is left out of a request
 * stays in the record.
 */
export function sentMessages ({ system, messages, setting: { history, historyMax } }: Pick<SkillState, 'system' | 'messages' | 'setting'>): JsonObject[] {
  const most = history === 'full' ? messages.length : history === 'last_n' ? historyMax : 1
  const start = Math.max(0, messages.length - most)
  // APIs want a user's message behind the system prompt.
  const first = messages.findIndex(({ role }, index) => index >= start && role === 'user')
  return [{ role: 'system', content: system }, ...messages.slice(first).map(message => ({ ...message }))]
}
