import { type Json, type JsonObject, stringifyJson } from '../../base/json.ts'
import { type AgentParameter, type AgentTool } from '../../registry/kinds/agent/agent-setting.ts'

/** A problem with a parameter that a model chose; `name` has the names of tool and parameter, as `tool::parameter`. */
export interface ParameterProblem {
  readonly reason: 'absent' | 'empty' | 'tooLong'
  readonly name: string
  readonly text: string
}

/** Checks parameters in the order of their declaration; the first that is wrong counts, for its user is asked one thing at a time. */
export function findProblem ({ name, parameters }: AgentTool, values: JsonObject): ParameterProblem | undefined {
  for (const [parameter, rules] of Object.entries(parameters)) {
    const reason = problemOf(Object.hasOwn(values, parameter) ? values[parameter] as Json : null, rules)
    if (reason !== undefined) return { reason, name: `${name}::${parameter}`, text: rules[reason] ?? rules.absent ?? '' }
  }
  return undefined
}

/** The values that a model chose for declared parameters. Texts are trimmed, as they were when they were checked. */
export function chosenOf ({ parameters }: AgentTool, values: JsonObject): JsonObject {
  const chosen = Object.entries(parameters).filter(([parameter]) => Object.hasOwn(values, parameter) && values[parameter] !== null)
  return Object.fromEntries(chosen.map(([parameter, { type }]) => {
    const value = values[parameter] as Json
    return [parameter, type === 'string' ? textOf(value) : value]
  }))
}

/** A value as it is measured and shown: trimmed text. */
export function textOf (value: Json): string {
  return (typeof value === 'string' ? value : stringifyJson(value)).trim()
}

function problemOf (value: Json, { absent, maxLength = Infinity }: AgentParameter): ParameterProblem['reason'] | undefined {
  // A parameter without a text for its absence is optional.
  if (value === null) return absent === undefined ? undefined : 'absent'
  const text = textOf(value)
  if (text === '' && absent !== undefined) return 'empty'
  // The length is in code points, as people count. A text of exactly that length is accepted.
  return Array.from(text).length > maxLength ? 'tooLong' : undefined
}
