import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type AgentParameter, type AgentTool } from '../../registry/kinds/agent/agent-setting.ts'

/** A problem with the value of a parameter that a model chose for a tool call. `name` has the form `tool::parameter`; `text` is what the user is told. */
export interface ParameterProblem {
  readonly reason: 'absent' | 'empty' | 'tooLong'
  readonly name: string
  readonly text: string
}

/**
 * Checks the parameters that a model chose for a tool call, in the order of their declaration. Only the first problem is returned, since the
 * user is asked for one thing at a time; `undefined` when all are right.
 */
export function findProblem ({ name, parameters }: AgentTool, values: JsonObject): ParameterProblem | undefined {
  for (const [parameter, rules] of Object.entries(parameters)) {
    const reason = problemOf(Object.hasOwn(values, parameter) ? values[parameter] as Json : null, rules)
    if (reason !== undefined) return { reason, name: `${name}::${parameter}`, text: rules[reason] ?? rules.absent ?? '' }
  }
  return undefined
}

/** The values that a model chose for the declared parameters of a tool. Texts are trimmed, as they were for the check. */
export function chosenOf ({ parameters }: AgentTool, values: JsonObject): JsonObject {
  const chosen = Object.entries(parameters).filter(([parameter]) => Object.hasOwn(values, parameter) && values[parameter] !== null)
  return Object.fromEntries(chosen.map(([parameter, { type }]) => {
    const value = values[parameter] as Json
    return [parameter, type === 'string' ? textOf(value) : value]
  }))
}

/** A parameter's value as a trimmed text. Its length is checked in this form, and the user is shown this form. */
export function textOf (value: Json): string {
  return (typeof value === 'string' ? value : stringifyJson(value)).trim()
}

function problemOf (value: Json, { absent, maxLength = Infinity }: AgentParameter): ParameterProblem['reason'] | undefined {
  // A parameter is optional when its declaration has no text for its absence.
  if (value === null) return absent === undefined ? undefined : 'absent'
  const text = textOf(value)
  if (text === '' && absent !== undefined) return 'empty'
  // The length is counted in code points, as people count. A text of exactly the largest length is accepted.
  return Array.from(text).length > maxLength ? 'tooLong' : undefined
}
