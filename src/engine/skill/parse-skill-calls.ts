import { type Json, type JsonObject } from '../../base/json.ts'
import { type Answer, type AskedCall } from '../../llm/answer.ts'
import { parseArguments, unknownFunction } from '../../llm/calls.ts'
import { resultMessage } from '../../llm/history.ts'
import { type ReadableReply, withoutFence } from './parse-skill-response.ts'
import { readSkillCall } from './skill-functions.ts'

/** The most function calls that a skill carries out for one answer of the model. Further calls are not run. */
export const MAX_CALLS = 10

/** A function call in the model's last answer, read as one of the replies of a skill (command, question, message, end). */
export interface SkillCall extends Pick<AskedCall, 'name' | 'isOlder'> {
  readonly id: Json
  /** The reply that the call means, or the problem with the call. */
  readonly says: ReadableReply | { readonly type: 'WRONG', readonly problem: string }
  /** The result that the model is told: what the call led to, or why it was not carried out; absent until then. */
  readonly result?: string
}

/**
 * Reads the function calls in an answer of a skill's model, in order. It never throws: a wrong call has a `says` of the type `WRONG`.
 * @param isOfOld whether the session is of an earlier version, which left the fence around a command
 */
export function parseSkillCalls ({ calls }: Pick<Answer, 'calls'>, isOfOld = false): SkillCall[] {
  return calls.map(({ arguments: text, extra: _, ...as }, index) => {
    const call = { ...as, says: readingOf(as.name, text, isOfOld) }
    return index < MAX_CALLS ? call : { ...call, result: notRun(`at most ${MAX_CALLS} calls are worked off`) }
  })
}

function readingOf (name: string, text: string, isOfOld: boolean): SkillCall['says'] {
  const values = parseArguments(text)
  const read = typeof values === 'string' ? `${name}: ${values}` : readSkillCall(name, values)
  if (typeof read === 'object' && read.type === 'CMD' && !isOfOld) {
    const command = withoutFence(read.command)
    return command === '' ? { type: 'WRONG', problem: `${name} needs command, which is empty` } : { ...read, content: `[CMD] ${command}`, command }
  }
  return read === undefined ? { type: 'WRONG', problem: unknownFunction(name) } : typeof read === 'string' ? { type: 'WRONG', problem: read } : read
}

/** The problem of the first function call that cannot be read; `undefined` when all can be read. */
export function problemIn (calls: readonly SkillCall[]): string | undefined {
  for (const { says } of calls.slice(0, MAX_CALLS)) if (says.type === 'WRONG') return says.problem
  return undefined
}

/** The next function call to carry out: the first one without a result. */
export function nextCall (calls: readonly SkillCall[]): SkillCall | undefined {
  return calls.find(({ result }) => result === undefined)
}

/**
 * Copies a list of function calls. The first call without a result gets `result`.
 * @param goesOn whether the calls after that call are carried out too; otherwise their result says that they were not run
 */
export function withResult (calls: readonly SkillCall[], result: string, goesOn: boolean): SkillCall[] {
  const done = nextCall(calls)
  return calls.map(call => {
    if (call === done) return { ...call, result }
    return goesOn || call.result !== undefined ? call : { ...call, result: notRun('the call before it has ended the list') }
  })
}

/** The messages that tell the model the results of its function calls. */
export function resultsOf (calls: readonly SkillCall[]): JsonObject[] {
  return calls.flatMap(({ result, ...call }) => result === undefined ? [] : [resultMessage(call, result)])
}

/** The result of a function call that was not carried out, as the model reads it. */
export function notRun (reason: string): string {
  return `Not run: ${reason}.`
}
