import { ServiceError } from '../../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../../base/json.ts'
import { NO_WORDS } from '../../../llm/answer.ts'
import { replyOf, strictMessages } from '../../../llm/history.ts'
import { UpstreamError, UpstreamRefusal } from '../../../llm/upstream-error.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { type ModelEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { parseParameters } from '../../../tool/schema/parameters.ts'
import { valueIn } from '../../chat/answer-check.ts'
import { type CountedCall, type CountedModels } from '../../chat/counted-models.ts'
import { askLive, askWhole, limitParts, type WholeAnswer } from './ask-live.ts'
import { LiveAnswer } from './live-answer.ts'
import { clipped } from './clipped.ts'
import { type Perform, type Performing } from './performer.ts'

/** The longest answer of a model that is kept whole, in UTF-16 units of its JSON: a plan may contain files of 5 MB. */
const MAX_ANSWER = 8 * 1024 * 1024

/** The longest time that a streamed answer of a model takes in all, in ms. */
const MAX_STREAM_TIME = 600_000

/** How often the followers of a session are told that a model still writes an answer that is not streamed, in ms. */
const PROGRESS = 1000

/** Makes the performer that asks a model for a session. */
export function askModelWith (models: CountedModels): Perform<ModelEffect> {
  return async performing => {
    const { effect: { fields, timeout, maxAnswer = Infinity, returns }, signal } = performing
    const limit = timeLimit(signal, performing.effect.live === true ? MAX_STREAM_TIME : timeout)
    const parts = performing.effect.live === true ? limitParts(limit, timeout) : undefined
    const asked = parts?.signal ?? limit
    const endProgress = parts === undefined ? tellProgress(performing) : undefined
    try {
      const { answers, reply, usage } = await ask(models, performing, { signal: asked, onProgress: () => parts?.progressed() })
      const value = replyOf(answers, reply)
      if (maxAnswer < Infinity && Buffer.byteLength(stringifyJson(value)) > maxAnswer) {
        return { kind: 'failure', code: 'ANSWER_TOO_LONG', message: `the model's answer is longer than ${maxAnswer} bytes` }
      }
      const result = returns === undefined ? value : { ...value, ...valueIn(parseParameters(returns).compiled, answers[0] ?? NO_WORDS) }
      return { kind: 'result', result: clipped(result, MAX_ANSWER), usage: { input: usage.inputTokens, output: usage.outputTokens } }
    } catch (error) {
      if (asked.aborted) return { kind: 'failure', code: 'TIMEOUT', message: `no answer within ${timeout} ms` }
      return failureOf(error, Object.hasOwn(fields, 'tools'))
    } finally {
      parts?.end()
      endProgress?.()
    }
  }
}

/** Tells the followers of a session, again and again, how long a model has been writing. @returns a function that ends this */
function tellProgress ({ effect: { id }, publish }: Performing<ModelEffect>): () => void {
  const begun = performance.now()
  const timer = setInterval(() => { publish({ type: 'llm.progress', effect: id, elapsedMs: Math.round(performance.now() - begun) }) }, PROGRESS)
  return () => { clearInterval(timer) }
}

interface AskOptions extends Pick<CountedCall, 'signal'> {
  readonly onProgress: () => void
}

async function ask (models: CountedModels, performing: Performing<ModelEffect>, { signal, onProgress }: AskOptions): Promise<WholeAnswer> {
  const { session: { id, start, open }, effect, caller, activity, publish } = performing
  const { messages, fields, timeout, returns } = effect
  const request: JsonObject = { ...fields, messages: strictMessages(messages) }
  const isLive = effect.live === true
  const deadline = performance.now() + (isLive ? MAX_STREAM_TIME : timeout)
  // An API that does not know the response format is asked again without the format: the answer is checked here anyway.
  const format = returns === undefined ? {} : { optionalFormat: true }
  const call = { caller, prompt: start.definition, signal, requestId: id, deadline, activity, ...format }
  if (!isLive) return await askWhole({ models, request, call })
  const live = new LiveAnswer(effect.id, publish, open.get(effect.id)?.isAgain === true)
  return await askLive({ models, request, call, live, onProgress })
}

function failureOf (error: unknown, hasTools: boolean): Outcome {
  if (error instanceof UpstreamRefusal) {
    const code = isTooLong(error) ? 'INPUT_TOO_LONG' : hasTools && refusesTools(error) ? 'TOOLS_REFUSED' : 'LLM_REFUSED'
    return { kind: 'failure', code, message: error.inWords }
  }
  if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
  if (error instanceof UpstreamError) return { kind: 'failure', code: 'LLM_UPSTREAM', message: error.message }
  throw error
}

/** Whether a provider has refused a request because of its tools. Providers word this differently, so any refusal that mentions tools or functions counts. */
function refusesTools ({ inWords }: UpstreamRefusal): boolean {
  return /\b(?:tools?|tool_choice|functions?)\b/i.test(inWords)
}

/** Whether a provider has refused a request because it is too long: its reply has the usual code, or one of the usual phrases. */
function isTooLong ({ inWords, code }: UpstreamRefusal): boolean {
  return code === 'context_length_exceeded' || /context.{0,10}(?:length|window|size)|too many tokens|(?:prompt|input|request) is too (?:long|large)|reduce the length/i.test(inWords)
}
