import { ServiceError } from '../../../base/errors.ts'
import { type JsonObject, stringifyJson } from '../../../base/json.ts'
import { UpstreamRefusal } from '../../../llm/upstream-error.ts'
import { timeLimit } from '../../../runtime/deadline.ts'
import { type ModelEffect } from '../../../session/model.ts'
import { type Outcome } from '../../../session/performer.ts'
import { type CountedModels } from '../../chat/counted-models.ts'
import { clipped, type Perform } from './performer.ts'

/** Of an answer, in UTF-16 units of its JSON: a plan may hold files of 5 MB. */
const MAX_ANSWER = 8 * 1024 * 1024

/** Asks the model for sessions. */
export function askModelWith (models: CountedModels): Perform<ModelEffect> {
  return async ({ session: { id, start }, effect: { messages, fields, timeout, maxAnswer = Infinity }, caller, signal, activity }) => {
    const request = { ...fields, messages } as JsonObject
    const limit = timeLimit(signal, timeout)
    try {
      const call = { caller, prompt: start.definition, signal: limit, requestId: id, deadline: performance.now() + timeout, activity }
      const { value, usage } = await models.ask({ kind: 'chat', request, call })
      if (maxAnswer < Infinity && Buffer.byteLength(stringifyJson(value)) > maxAnswer) {
        return { kind: 'failure', code: 'ANSWER_TOO_LONG', message: `the model's answer is longer than ${maxAnswer} bytes` }
      }
      return { kind: 'result', result: clipped(value, MAX_ANSWER), usage: { input: usage.inputTokens, output: usage.outputTokens } }
    } catch (error) {
      return failureOf(error, limit, timeout, Object.hasOwn(fields, 'tools'))
    }
  }
}

function failureOf (error: unknown, signal: AbortSignal, timeout: number, hasTools: boolean): Outcome {
  if (signal.aborted) return { kind: 'failure', code: 'TIMEOUT', message: `no answer within ${timeout} ms` }
  if (error instanceof UpstreamRefusal) {
    return { kind: 'failure', code: hasTools && refusesTools(error) ? 'TOOLS_REFUSED' : 'LLM_REFUSED', message: error.inWords }
  }
  if (error instanceof ServiceError) return { kind: 'failure', code: error.code, message: error.message }
  throw error
}

/** Whether a provider refuses a request because of its tools. No two providers say it alike: a 400 that names tools or functions. */
function refusesTools ({ inWords }: UpstreamRefusal): boolean {
  return /\b(?:tools?|tool_choice|functions?)\b/i.test(inWords)
}
