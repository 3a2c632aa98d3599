import { type JsonObject } from '../../../base/json.ts'
import { type Config } from '../../../config/config.ts'
import { AGENT } from '../../../engine/agent/agent-state.ts'
import { LOOP } from '../../../engine/loop/loop-state.ts'
import { agentKind } from '../../../registry/kinds/agent/agent-kind.ts'
import { startWith } from '../../../session/engine.ts'
import { findDefinition } from '../../find-definition.ts'
import { type DialogueSetting } from '../../../engine/shared/dialogue-start.ts'
import { type Start } from '../../../session/model.ts'
import { type Reach, reachOf } from './resolve-definitions.ts'
import { type SessionKind } from './session-kind.ts'

/** A request to start a dialogue with an agent. */
export interface AgentRequest {
  /** The id of the agent, with `.` or `:` between its parts. */
  readonly id: string
  /** The input that the dialogue starts with. @default an empty object */
  readonly input?: JsonObject
}

const MINUTE = 60_000

/** Makes the kind of sessions that are dialogues with agents. @param config has the language of agents that set none */
export function agentSessions ({ DEFAULT_LANGUAGE }: Pick<Config, 'DEFAULT_LANGUAGE'>): SessionKind<AgentRequest> {
  return {
    name: 'agents',
    engines: [AGENT, LOOP],
    start ({ id: wanted, input = {} }, { generation }) {
      const { id, setting, hash } = findDefinition(generation, agentKind, wanted)
      const agent = { language: DEFAULT_LANGUAGE, ...setting }
      return startDialogue({ id, revision: hash, agent }, reachOf(generation, setting, { DEFAULT_LANGUAGE }), input)
    }
  }
}

/** Makes the recorded start of a dialogue: all settings of the agent and of the definitions that it can reach. */
export function startDialogue (
  { id, revision, agent }: { readonly id: string, readonly revision: string, readonly agent: DialogueSetting },
  { tools, definitions, ask }: Reach,
  input: JsonObject
): Omit<Start, 'owner'> {
  const { mode, budget: { steps, tokens, idleMinutes } } = agent
  return {
    ...(mode === 'tools' ? startWith(LOOP, { agent, tools, ...(definitions === undefined ? {} : { definitions }) }) : startWith(AGENT, { agent, tools: [] })),
    definition: `agents/${id}`,
    revision,
    input,
    budget: { steps, tokens, idle: idleMinutes * MINUTE },
    ask
  }
}
