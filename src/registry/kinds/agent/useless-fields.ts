import { type JsonObject } from '../../../base/json.ts'
import { type JsonPath } from '../../../base/json-places.ts'
import { isObject } from '../../../template/value.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'
import { type AgentSetting } from './agent-setting.ts'

/** The fields of an agent that have no effect in each of its modes. */
const USELESS: Readonly<Record<AgentSetting['mode'], readonly JsonPath[]>> = {
  tools: [['classify'], ['select']],
  steps: [['system'], ['maxTurns'], ['stream'], ['returns'], ['history', 'compact']]
}

/**
 * Warns of an agent's fields that have no effect because of the value of another field.
 * @param source the agent as its author wrote it
 * @param setting the agent as it was parsed
 */
export function uselessFields (source: JsonObject, { mode }: AgentSetting): Diagnostic[] {
  const beside = USELESS[mode].map(path => [path, `mode: ${mode}`] as const)
  const history: ReadonlyArray<readonly [JsonPath, string]> = has(source, ['history', 'messages']) ? [[['history', 'turns'], 'history.messages']] : []
  return [...beside, ...history].filter(([path]) => has(source, path)).map(([path, other]) => ({
    severity: 'warning', code: 'FIELD_UNUSED', message: `"${path.join('.')}" does nothing beside ${other}`, hint: 'leave one of them out', field: path
  }))
}

function has (source: JsonObject, [name = '', ...rest]: JsonPath): boolean {
  if (!Object.hasOwn(source, name)) return false
  const member = source[name] ?? null
  return rest.length === 0 || (isObject(member) && has(member as JsonObject, rest))
}
