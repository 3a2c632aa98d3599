import { contentHash, type JsonObject } from '../../../base/json.ts'
import { defineKind } from '../define-kind.ts'
import { type Definition, type ToolUse } from '../definition.ts'
import { type AgentSetting, type AgentTool } from './agent-setting.ts'
import { parseAgent } from './parse-agent.ts'
import { type JsonPath } from '../../../base/json-places.ts'
import { isObject } from '../../../template/value.ts'
import { type Diagnostic } from '../../diagnostic/diagnostic.ts'

/** A registered agent, checked: a dialogue with a user in which a model calls tools, described as data. */
export interface AgentDefinition extends Definition {
  readonly setting: AgentSetting
}

/** The kind of entries that are agents, stored under `shenma:agents:*`. */
export const agentKind = defineKind<AgentDefinition>({
  key: 'agents',
  name: 'agents',
  noun: 'agent',
  access: 'runs',
  define (id, value, origin) {
    const setting = parseAgent(value)
    const source = value as JsonObject
    return {
      id,
      origin,
      source,
      setting,
      diagnostics: uselessFields(source, setting),
      toolUses: [...setting.tools.flatMap(usesOf), ...definitionsIn(setting).filter(use => use.kind !== 'agents' || use.tool !== id)],
      hash: contentHash(source)
    }
  }
})

/** The agents, skills and plans that an agent names. */
function definitionsIn ({ children = [], handoffs = [] }: AgentSetting): ToolUse[] {
  return [...children, ...handoffs.map(id => ({ kind: 'agents', id } as const))].map(({ kind, id }) => ({ kind, tool: id, parameters: [] }))
}

/**
 * The tools that one function of an agent uses: the tool that the function calls, with the parameters that the model fills in and those that the author
 * fixes, and the tool (`health`) that is asked first whether the function can be called.
 */
function usesOf ({ tool, health, parameters, arguments: fixed }: AgentTool): ToolUse[] {
  return [{ tool, parameters: [...Object.keys(parameters), ...Object.keys(fixed)] }, ...health === undefined ? [] : [{ tool: health, parameters: [] }]]
}

/** For each mode of an agent, the fields that have no effect in that mode. */
const USELESS: Readonly<Record<AgentSetting['mode'], readonly JsonPath[]>> = {
  tools: [['classify'], ['select']],
  steps: [['system'], ['maxTurns'], ['stream'], ['returns'], ['history', 'compact']]
}

/**
 * Warns of an agent's fields that have no effect because of the value of another field.
 * @param source the agent as its author wrote it
 * @param setting the agent as it was parsed
 */
function uselessFields (source: JsonObject, { mode }: AgentSetting): Diagnostic[] {
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
