import { answerInvalid, type Violation } from '../../base/errors.ts'
import { isJsonObject, type Json, JsonError, type JsonObject, parseJson } from '../../base/json.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'

/** The first segment of the paths in violations, such as `answer.score`. It stands for the model's whole answer. */
const ROOT = 'answer'

/** The most violations of the schema that the description of one wrong answer lists. */
const MAX_TOLD = 10

/**
 * Checks a model's whole reply: the answer in each of its choices must fit the JSON schema that the prompt declares.
 * @throws ANSWER_INVALID with every violation
 */
export function checkAnswer (promptId: string, schema: AnswerSchema, reply: JsonObject): void {
  const { choices } = reply
  const messages = Array.isArray(choices) ? choices.map((choice: Json) => isJsonObject(choice) ? choice['message'] ?? null : null) : []
  checkMessages(promptId, schema, messages)
}

/**
 * Checks the messages of a model against the JSON schema that the prompt declares for answers. A message that calls tools, or in which the
 * model refuses, is no answer and is not checked.
 * @throws ANSWER_INVALID with every violation
 */
export function checkMessages (promptId: string, { compiled }: AnswerSchema, messages: readonly Json[]): void {
  const violations = messages.flatMap((message): readonly Violation[] => {
    if (!isJsonObject(message) || isNoAnswer(message)) return []
    const answer = parseContent(message['content'] as Json | undefined)
    return 'mistake' in answer ? [{ path: ROOT, message: answer.mistake }] : compiled.validate(answer.value, ROOT)
  })
  if (violations.length > 0) throw answerInvalid(promptId, violations)
}

/**
 * Reads the first choice of a whole reply as JSON, and checks it against a schema.
 * @returns the value, or the problem with it; neither of them for a message that calls tools or refuses, which is no answer
 */
export function answerIn (compiled: AnswerSchema['compiled'], { choices }: JsonObject): { value: Json } | { problem: string } | Record<never, never> {
  const choice = Array.isArray(choices) ? choices[0] as Json | undefined : undefined
  const message = isJsonObject(choice) ? choice['message'] : undefined
  if (!isJsonObject(message) || isNoAnswer(message)) return {}
  const answer = parseContent(message['content'])
  if ('mistake' in answer) return { problem: `${ROOT} ${answer.mistake}` }
  const [violation, ...more] = compiled.validate(answer.value, ROOT)
  if (violation === undefined) return { value: answer.value }
  const told = [violation, ...more].slice(0, MAX_TOLD)
  return { problem: told.map(({ path, message: wrong }) => `${path} ${wrong}`).join('; ') }
}

function isNoAnswer ({ tool_calls: calls, refusal }: JsonObject): boolean {
  return (Array.isArray(calls) && calls.length > 0) || (typeof refusal === 'string' && refusal !== '')
}

function parseContent (content: Json | undefined): { value: Json } | { mistake: string } {
  if (typeof content !== 'string') return { mistake: 'has no text' }
  try {
    return { value: parseJson(content) }
  } catch (error) {
    if (!(error instanceof JsonError)) throw error
    return { mistake: `is not JSON: ${error.message}` }
  }
}
