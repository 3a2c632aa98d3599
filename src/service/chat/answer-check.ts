import { answerInvalid, type Violation } from '../../base/errors.ts'
import { type Json } from '../../base/json.ts'
import { type Answer } from '../../llm/answer.ts'
import { jsonIn } from '../../llm/json-in.ts'
import { type AnswerSchema } from '../../registry/kinds/prompt/prompt-chat.ts'

/** The first segment of the paths in violations, such as `answer.score`. It stands for the model's whole answer. */
const ROOT = 'answer'

/** The most violations of the schema that the description of one wrong answer lists. */
const MAX_TOLD = 10

/**
 * Checks the answers of a model against the JSON schema that the prompt declares for them. An answer that calls tools, or in which the model refuses,
 * is not checked. An answer that was cut never fits, since what is missing may be what matters.
 * @returns the JSON texts of the answers; `undefined` for those that are not checked
 * @throws ANSWER_INVALID with every violation
 */
export function checkAnswers (promptId: string, { compiled }: AnswerSchema, answers: readonly Answer[]): Array<string | undefined> {
  const checked = answers.map(answer => isNoAnswer(answer) ? undefined : check(compiled, answer))
  const violations = checked.flatMap(each => each?.violations ?? [])
  if (violations.length > 0) throw answerInvalid(promptId, violations)
  return checked.map(each => each?.text)
}

/**
 * Reads an answer as JSON, and checks it against a schema.
 * @returns the value, or the problem with it; neither of them for an answer that calls tools or refuses
 */
export function valueIn (compiled: AnswerSchema['compiled'], answer: Answer): { value: Json } | { problem: string } | Record<never, never> {
  if (isNoAnswer(answer)) return {}
  const { value, violations } = check(compiled, answer)
  if (violations.length === 0) return { value }
  return { problem: violations.slice(0, MAX_TOLD).map(({ path, message: wrong }) => `${path} ${wrong}`).join('; ') }
}

function isNoAnswer ({ calls, refusal, cut }: Answer): boolean {
  return !cut && (calls.length > 0 || refusal !== '')
}

interface Checked { readonly value: Json, readonly text?: string, readonly violations: readonly Violation[] }

function check (compiled: AnswerSchema['compiled'], { text, cut, finishReason }: Answer): Checked {
  const wrong = (message: string): Checked => ({ value: null, violations: [{ path: ROOT, message }] })
  if (cut) return wrong(`was cut (${String(finishReason)}): answer with less`)
  const found = jsonIn(text)
  return 'reason' in found ? wrong(`is not JSON: ${found.reason}`) : { ...found, violations: compiled.validate(found.value, ROOT) }
}
