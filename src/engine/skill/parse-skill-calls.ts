import { type JsonObject } from '../../base/json.ts'
import { type AskedCall, callsOf, parseArguments, resultMessage, unknownFunction } from '../shared/choice.ts'
import { type ReadableReply } from './parse-skill-response.ts'
import { readSkillCall } from './skill-functions.ts'

/** So many calls of one answer are worked off. */
export const MAX_CALLS = 10

/** A call of the model's last answer. */
export interface SkillCall extends Pick<AskedCall, 'id' | 'name' | 'isOlder'> {
  /** What it says, or what is wrong with it. */
  readonly says: ReadableReply | { readonly type: 'WRONG', readonly problem: string }
  /** What the model is told of it, once that is known. */
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

/** What is wrong with the first of the calls that cannot be read; `undefined` where all of them can. */
export function problemIn (calls: readonly SkillCall[]): string | undefined {
  for (const { says } of calls.slice(0, MAX_CALLS)) if (says.type === 'WRONG') return says.problem
  return undefined
}

/** The call that comes next. */
export function nextCall (calls: readonly SkillCall[]): SkillCall | undefined {
  return calls.find(({ result }) => result === undefined)
}

/**
 * The same calls with the result of the one that was next.
 * @param goesOn whether the others are worked off; else they are answered, too
 */
export function withResult (calls: readonly SkillCall[], result: string, goesOn: boolean): SkillCall[] {
  const done = nextCall(calls)
  return calls.map(call => {
    if (call === done) return { ...call, result }
    return goesOn || call.result !== undefined ? call : { ...call, result: notRun('the call before it has ended the list') }
  })
}

/** What the model is sent of the calls that have a result. */
export function resultsOf (calls: readonly SkillCall[]): JsonObject[] {
  return calls.flatMap(({ result, ...call }) => result === undefined ? [] : [resultMessage(call, result)])
}

/** The result of a call that was not worked off. */
export function notRun (reason: string): string {
  return `Not run: ${reason}.`
}
