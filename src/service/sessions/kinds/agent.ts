import { type JsonObject } from '../../../base/json.ts'
import { type Config } from '../../../config/config.ts'
import { AGENT } from '../../../engine/agent/agent-state.ts'
import { LOOP } from '../../../engine/loop/loop-state.ts'
import { agentKind } from '../../../registry/kinds/agent/agent-kind.ts'
import { startWith } from '../../../session/engine.ts'
import { findDefinition } from '../../find-definition.ts'
import { declareTools } from './declare-tools.ts'
import { type SessionKind } from './session-kind.ts'

/** A dialogue that somebody wants. */
export interface AgentRequest {
  /** Dotted, or with `:`. */
  readonly id: string
  /** @default nothing */
  readonly input?: JsonObject
}

const MINUTE = 60_000

/** Dialogues with agents. @param config has the language of those that say none */
export function agentSessions ({ DEFAULT_LANGUAGE }: Pick<Config, 'DEFAULT_LANGUAGE'>): SessionKind<AgentRequest> {
  return {
    name: 'agents',
    engines: [AGENT, LOOP],
    start ({ id: wanted, input = {} }, { generation }) {
      const { id, setting, hash } = findDefinition(generation, agentKind, wanted)
      const { mode, budget: { steps, tokens, idleMinutes }, ask, tools } = setting
      const agent = { language: DEFAULT_LANGUAGE, ...setting }
      return {
        ...(mode === 'tools' ? startWith(LOOP, { agent, tools: declareTools(generation, tools) }) : startWith(AGENT, { agent, tools: [] })),
        definition: `agents/${id}`,
        revision: hash,
        input,
        budget: { steps, tokens, idle: idleMinutes * MINUTE },
        // People name tools as the model calls them; effects carry the ids of registrations.
        ask: tools.filter(({ name }) => ask.includes(name)).map(({ tool }) => tool)
      }
    }
  }
}
