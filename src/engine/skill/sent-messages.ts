import { type JsonObject } from '../../base/json.ts'
import { type SkillState } from './skill-state.ts'

/**
 * The messages of a request: the system prompt, and all of the dialogue or its last messages. The session keeps those that a request leaves
 * out. Where the model calls functions, the first message, which has the task, is always sent, and a result only with its call.
 */
export function sentMessages ({ system, messages, protocol, setting }: Pick<SkillState, 'system' | 'messages' | 'setting' | 'protocol'>): JsonObject[] {
  const { history, historyMax } = setting
  const most = history === 'full' ? messages.length : history === 'last_n' ? historyMax : 1
  const start = Math.max(0, messages.length - most)
  const sent = protocol === 'tools' ? withWholeCalls(messages, start) : fromUser(messages, start)
  return [{ role: 'system', content: system }, ...sent.map(message => ({ ...message }))]
}

/** The messages from a user's message on, since APIs want one behind the system prompt. */
function fromUser (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  return messages.slice(messages.findIndex(({ role }, index) => index >= start && role === 'user'))
}

/** The first message, and the last ones from an answer of the model on, so that no result stands without its call. */
function withWholeCalls (messages: readonly JsonObject[], start: number): readonly JsonObject[] {
  const answer = messages.findLastIndex(({ role }, index) => index <= start && role === 'assistant')
  return answer < 0 ? messages : [...messages.slice(0, 1), ...messages.slice(answer)]
}
