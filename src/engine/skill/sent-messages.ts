import { type JsonObject } from '../../base/json.ts'
import { type SkillState } from './skill-state.ts'

/**
 * The messages of a skill's request to the model: the system prompt, then all messages of the dialogue or the last ones, as the skill
 * says. When the model calls functions, the first message, which has the task, is always included, and each result has its call.
 */
export function sentMessages ({ system, messages, protocol, setting }: Pick<SkillState, 'system' | 'messages' | 'setting' | 'protocol'>): JsonObject[] {
  const { history, historyMax } = setting
  const most = history === 'full' ? messages.length : history === 'last_n' ? historyMax : 1
  const start = Math.max(0, messages.length - most)
  const sent = protocol === 'tools' ? withWholeCalls(messages, start) : fromUser(messages, start)
  return [{ role: 'system', content: system }, ...sent.map(message => ({ ...message }))]
}

/** The messages from the first message of the user at or after an index, since APIs want the user's message after the system prompt. */
function fromUser (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  return messages.slice(messages.findIndex(({ role }, index) => index >= start && role === 'user'))
}

/** The first message, and the last messages from an answer of the model on, so that no result stands without its call. */
function withWholeCalls (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  const answer = messages.findLastIndex(({ role }, index) => index <= start && role === 'assistant')
  return answer < 0 ? messages : [...messages.slice(0, 1), ...messages.slice(answer)]
}
