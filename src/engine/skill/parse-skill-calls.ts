import { type JsonObject } from '../../base/json.ts'
import { type AskedCall, callsOf, parseArguments, resultMessage, unknownFunction } from '../shared/choice.ts'
import { type ReadableReply } from './parse-skill-response.ts'
import { readSkillCall } from './skill-functions.ts'

/** The number of calls of one answer that are carried out. */
export const MAX_CALLS = 10

/** A call of the model's last answer. */
export interface SkillCall extends Pick<AskedCall, 'id' | 'name' | 'isOlder'> {
  /** The reply that the call stands for, or what is wrong with the call. */
  readonly says: ReadableReply | { readonly type: 'WRONG', readonly problem: string }
  /** The result for the model, once the call has one. */
  readonly result?: string
}

/** Reads the calls of an answer, in its order. Never throws. */
export function parseSkillCalls (message: JsonObject): SkillCall[] {
  return callsOf(message).map(({ arguments: text, ...as }, index) => {
    const call = { ...as, says: readingOf(as.name, text) }
    return index < MAX_CALLS ? call : { ...call, result: notRun(`at most ${MAX_CALLS} calls are worked off`) }
  })
}

function readingOf (name: string, text: string): SkillCall['says'] {
  const values = parseArguments(text)
  const read = typeof values === 'string' ? `${name}: ${values}` : readSkillCall(name, values)
  return read === undefined ? { type: 'WRONG', problem: unknownFunction(name) } : typeof read === 'string' ? { type: 'WRONG', problem: read } : read
}

/** The problem of the first call that cannot be read; `undefined` where all can be. */
export function problemIn (calls: readonly SkillCall[]): string | undefined {
  for (const { says } of calls.slice(0, MAX_CALLS)) if (says.type === 'WRONG') return says.problem
  return undefined
}

/** The next call: the first one without a result. */
export function nextCall (calls: readonly SkillCall[]): SkillCall | undefined {
  return calls.find(({ result }) => result === undefined)
}

/**
 * The calls, with the result of the next one filled in.
 * @param goesOn whether the other calls are still carried out; else they get the result that they were not run
 */
export function withResult (calls: readonly SkillCall[], result: string, goesOn: boolean): SkillCall[] {
  const done = nextCall(calls)
  return calls.map(call => {
    if (call === done) return { ...call, result }
    return goesOn || call.result !== undefined ? call : { ...call, result: notRun('the call before it has ended the list') }
  })
}

/** The messages to the model with the results of calls. */
export function resultsOf (calls: readonly SkillCall[]): JsonObject[] {
  return calls.flatMap(({ result, ...call }) => result === undefined ? [] : [resultMessage(call, result)])
}

/** The result of a call that was not carried out. */
export function notRun (reason: string): string {
  return `Not run: ${reason}.`
}
