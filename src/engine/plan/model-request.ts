import { type JsonObject } from '../../base/json.ts'
import { clip } from '../shared/clip.ts'
import { memoryBlock } from './memory.ts'
import { repairMessage, roundsMessage, systemMessage } from './messages.ts'
import { type PlanState } from './plan-state.ts'

/** The length of all messages above which the model's answer is kept short, in UTF-16 units: both have to fit into the model's context window. */
const LONG_INPUT = 80_000

/** The most tokens that the model's answer to a long input is allowed to have. */
const SHORT_ANSWER = 4096

/** The largest number of earlier questions and answers that a request to the model repeats. */
const MAX_EXCHANGES = 5

/** The length to which an earlier answer is cut when a request repeats it, in code points. */
const MAX_REPLY = 20_000

/** A request to the model, with the sizes that are written to the session's log lines. */
export interface ModelRequest {
  readonly messages: readonly JsonObject[]
  readonly fields: JsonObject
  readonly inputChars: number
  readonly tokenBudget: number
}

/** Builds the request to the model from the state of a plan. @param context text of the blocks that the model reads; empty when there are none */
export function modelRequest (state: PlanState, context: string): ModelRequest {
  const { setting, mode, memory, exchanges, words, report, failedCheck, rounds, repair } = state
  const { schemaVersion, language, prompt, limits, model, temperature, maxTokens, isStrict, schema } = setting
  const before = exchanges.slice(-MAX_EXCHANGES)
  const asked = [
    words,
    ...report === '' || exchanges.length > 0 ? [] : [`REPORT:\n${report}`],
    ...failedCheck === '' ? [] : [failedCheck],
    ...context === '' ? [] : [context],
    roundsMessage(limits.max_context_rounds - rounds, language)
  ].join('\n\n')
  const messages = [
    { role: 'system', content: systemMessage(mode, schemaVersion, language, prompt, memoryBlock(memory)) },
    ...before.flatMap(({ words: said, reply }) => [{ role: 'user', content: said }, { role: 'assistant', content: clip(reply, MAX_REPLY) }]),
    { role: 'user', content: asked },
    ...repair === undefined
      ? []
      : [{ role: 'assistant', content: clip(repair.reply, MAX_REPLY) }, { role: 'user', content: repairMessage(repair.problem, language) }]
  ]
  const inputChars = messages.reduce((sum, { content }) => sum + content.length, 0)
  const tokenBudget = inputChars > LONG_INPUT ? Math.min(SHORT_ANSWER, maxTokens) : maxTokens
  const fields = {
    ...(model === '' ? {} : { model }),
    temperature,
    top_p: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    max_tokens: tokenBudget,
    ...(isStrict && !state.isFormatRefused ? { response_format: { type: 'json_schema', json_schema: { name: 'plan_response', strict: true, schema } } } : {})
  }
  return { messages, fields, inputChars, tokenBudget }
}
