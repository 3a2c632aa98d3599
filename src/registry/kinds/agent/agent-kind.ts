import { contentHash, type JsonObject } from '../../../base/json.ts'
import { lintFields } from '../../entries/misspelt-fields.ts'
import { defineKind } from '../define-kind.ts'
import { type Definition, type ToolUse } from '../definition.ts'
import { type AgentSetting, type AgentTool } from './agent-setting.ts'
import { AGENT_SCHEMA, parseAgent } from './parse-agent.ts'
import { uselessFields } from './useless-fields.ts'

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
      diagnostics: [...lintFields(source, AGENT_SCHEMA.fields), ...uselessFields(source, setting)],
      toolUses: [...setting.tools.flatMap(usesOf), ...definitionsIn(setting).filter(use => use.kind !== 'agents' || use.tool !== id)],
      hash: contentHash(source)
    }
  }
})

/** The agents, skills and plans that an agent names. */
function definitionsIn ({ children = [], handoffs = [] }: AgentSetting): ToolUse[] {
  return [...children, ...handoffs.map(id => ({ kind: 'agents', id } as const))].map(({ kind, id }) => ({ kind, tool: id, parameters: [] }))
}

/** The tools that a function of an agent names, with all their parameters: those that the model fills in, and those that the definition fixes. */
function usesOf ({ tool, health, parameters, arguments: fixed }: AgentTool): ToolUse[] {
  return [{ tool, parameters: [...Object.keys(parameters), ...Object.keys(fixed)] }, ...health === undefined ? [] : [{ tool: health, parameters: [] }]]
}
