import { type JsonObject } from '../../base/json.ts'
import { callsOf, contentOf, NO_ANSWER } from '../../llm/history.ts'
import { parseSkillCalls } from './parse-skill-calls.ts'

/** The message, in the role of the user, that the model gets after its text with the tag `[MESSAGE]` was shown: the model is to reply with the next step. */
export const MESSAGE_SEEN = '[Continue after informational message]'

/**
 * Rewrites a dialogue for a model that cannot call functions: each function call becomes a text with a tag such as `[CMD]`, and each result
 * becomes a message of the user. Each call must have its result.
 */
export function pastAsTexts (messages: readonly JsonObject[]): JsonObject[] {
  const texts: JsonObject[] = []
  let asked: readonly string[] = []
  for (const message of messages) {
    const role = message['role']
    const isResult = role === 'tool' || role === 'function'
    if (role === 'assistant' && callsOf(message).length > 0) {
      const words = contentOf(message).trim()
      if (words !== '') texts.push({ role: 'assistant', content: `[MESSAGE] ${words}` }, { role: 'user', content: MESSAGE_SEEN })
      asked = textsOf(message)
    } else if (isResult) {
      const [words = '', ...rest] = asked
      asked = rest
      texts.push({ role: 'assistant', content: words }, { role: 'user', content: contentOf(message) })
    } else {
      texts.push({ ...message })
    }
  }
  return texts
}

function textsOf (message: JsonObject): string[] {
  const calls = callsOf(message)
  const given = calls.map(call => `${call.name} ${call.arguments}`.trim() || NO_ANSWER)
  return parseSkillCalls({ calls }).map(({ says }, index) => says.type === 'WRONG' ? given[index] ?? NO_ANSWER : says.content)
}
