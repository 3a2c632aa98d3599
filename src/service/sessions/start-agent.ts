import { type JsonObject } from '../../base/json.ts'
import { AGENT } from '../../engine/agent/agent-state.ts'
import { LOOP } from '../../engine/loop/loop-state.ts'
import { type Generation } from '../../registry/generation.ts'
import { agentKind } from '../../registry/kinds/agent/agent-kind.ts'
import { definitionsOf } from '../../registry/offered.ts'
import { startWith } from '../../session/engine.ts'
import { type Start } from '../../session/model.ts'
import { missingDefinition, requireLoaded } from '../missing-entries.ts'
import { declareTools } from './declare-tools.ts'

const MINUTE = 60_000

/**
 * What a dialogue with an agent starts with: all of its definition as it is now, so that a later edit changes no dialogue.
 * @param id dotted, or with `:`
 * @throws DEFINITION_NOT_FOUND, STORE_UNAVAILABLE
 */
export function startOfAgent (generation: Generation, id: string, input: JsonObject): Omit<Start, 'owner'> {
  requireLoaded(generation)
  const path = id.replaceAll(':', '.')
  const agent = definitionsOf(generation, agentKind).get(path)
  if (agent === undefined) throw missingDefinition(generation, agentKind, path)
  const { setting } = agent
  const { budget: { steps, tokens, idleMinutes }, ask, tools } = setting
  return {
    ...setting.mode === 'tools' ? startWith(LOOP, { agent: setting, tools: declareTools(generation, tools) }) : startWith(AGENT, { agent: setting, tools: [] }),
    definition: `agents/${path}`,
    revision: agent.hash,
    input,
    budget: { steps, tokens, idle: idleMinutes * MINUTE },
    // People name tools as the model calls them; effects carry the ids of registrations.
    ask: tools.filter(({ name }) => ask.includes(name)).map(({ tool }) => tool)
  }
}
