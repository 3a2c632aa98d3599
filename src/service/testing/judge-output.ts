import { isJsonObject, type Json, parseJson } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Assertion } from '../../registry/kinds/tests/test-cases.ts'
import { type CaseRequest, type CaseRunnerOptions } from './case-request.ts'
import { type Output, type Verdict } from './check-output.ts'
import { answerIn } from './message-text.ts'

/** The most characters that are quoted of a judging model's answer if the answer is no valid verdict. */
const QUOTED = 200

/**
 * Lets a model judge an output, by a chat with a stored prompt. That prompt gets `output` and `rubric` as variables, and its model answers
 * `{ pass, score, reason }`.
 * @throws the errors of a chat
 */
export async function judgeOutput (
  { value, threshold, isNegated }: Assertion,
  { text }: Output,
  request: CaseRequest,
  { chatWithPrompt, choosePrompt }: Pick<CaseRunnerOptions, 'chatWithPrompt' | 'choosePrompt'>
): Promise<Verdict> {
  const { generation, caller, requestId, activity, signal, testCase: { judge } } = request
  const chosen = await choosePrompt(generation, caller, judge, {})
  const variables = { output: text, rubric: value ?? '' }
  const { value: completion } = await chatWithPrompt.complete({ generation, caller, id: judge, chosen, variables, requestId, activity, fields: {}, signal })
  const answer = answerIn(completion)
  const verdict = readVerdict(answer)
  if (verdict === undefined) {
    return { pass: false, reason: `${judge} gave no verdict { "pass": …, "reason": … }: ${JSON.stringify(beginningOf(answer, QUOTED))}` }
  }
  const holds = verdict.pass && (threshold === undefined || (verdict.score ?? 0) >= threshold)
  return { ...verdict, pass: holds !== isNegated }
}

function readVerdict (answer: string): Verdict | undefined {
  const read = parsed(answer)
  if (!isJsonObject(read) || typeof read['pass'] !== 'boolean') return undefined
  const { pass, score, reason } = read
  return { pass, reason: typeof reason === 'string' ? reason : '', ...(score === undefined ? {} : { score: Number(score) }) }
}

function parsed (text: string): Json | undefined {
  try {
    return parseJson(text)
  } catch {
    return undefined
  }
}
