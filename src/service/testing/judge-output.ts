import { isJsonObject } from '../../base/json.ts'
import { beginningOf } from '../../base/text.ts'
import { type Answer } from '../../llm/answer.ts'
import { readReply } from '../../llm/history.ts'
import { jsonIn } from '../../llm/json-in.ts'
import { type Assertion } from '../../registry/kinds/tests/test-cases.ts'
import { type CaseRequest, type CaseRunnerOptions } from './case-request.ts'
import { type Output, type Verdict } from './check-output.ts'

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
  const answer = readReply(completion, {})
  const verdict = readVerdict(answer)
  if (verdict === undefined) {
    const said = JSON.stringify(beginningOf(answer.text === '' ? answer.refusal : answer.text, QUOTED))
    return { pass: false, reason: `${judge} gave no verdict { "pass": …, "reason": … }: ${said}` }
  }
  const holds = verdict.pass && (threshold === undefined || (verdict.score ?? 0) >= threshold)
  return { ...verdict, pass: holds !== isNegated }
}

function readVerdict ({ text, cut }: Answer): Verdict | undefined {
  const found = jsonIn(text)
  const read = cut || 'reason' in found ? null : found.value
  if (!isJsonObject(read) || typeof read['pass'] !== 'boolean') return undefined
  const { pass, score, reason } = read
  return { pass, reason: typeof reason === 'string' ? reason : '', ...(score === undefined ? {} : { score: Number(score) }) }
}
