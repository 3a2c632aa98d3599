import { type JsonObject } from '../../base/json.ts'
import { type Generation } from '../../registry/generation.ts'
import { agentKind } from '../../registry/kinds/agent/agent-kind.ts'
import { type Start } from '../../session/model.ts'
import { findDefinition } from '../find-definition.ts'
import { declareTools } from './declare-tools.ts'

const MINUTE = 60_000

/**
 * What a dialogue with an agent starts with: all of its definition as it is now, so that a later edit changes no dialogue.
 * @param id dotted, or with `:`
 * @throws DEFINITION_NOT_FOUND, STORE_UNAVAILABLE
 */
export function startOfAgent (generation: Generation, id: string, input: JsonObject): Omit<Start, 'owner'> {
  const { id: path, setting, hash } = findDefinition(generation, agentKind, id)
  const { budget: { steps, tokens, idleMinutes }, ask, tools } = setting
  return {
    engine: setting.mode === 'tools' ? 'loop/1' : 'agent/1',
    definition: `agents/${path}`,
    revision: hash,
    setting: { agent: setting as unknown as JsonObject, tools: setting.mode === 'tools' ? declareTools(generation, tools) : [] },
    input,
    budget: { steps, tokens, idle: idleMinutes * MINUTE },
    // People name tools as the model calls them; effects carry the ids of registrations.
    ask: tools.filter(({ name }) => ask.includes(name)).map(({ tool }) => tool)
  }
}
