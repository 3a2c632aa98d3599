import { type Config } from '../../../config/config.ts'
import { type OperatorFile } from '../../../config/operator.ts'
import { agentSessions, type AgentRequest } from './agent.ts'
import { planSessions, type PlanRequest } from './plan.ts'
import { type SkillKindOptions, type SkillRequest, skillSessions } from './skill.ts'
import { type SessionKind } from './session-kind.ts'

/** All kinds of sessions that the service can start. */
export interface SessionKinds {
  readonly agents: SessionKind<AgentRequest>
  readonly skills: SessionKind<SkillRequest>
  readonly plans: SessionKind<PlanRequest>
}

/** What the kinds of sessions need: parts of the service, the operator's file, and the configuration. */
export interface SessionKindsOptions extends SkillKindOptions {
  readonly operator: OperatorFile
  readonly config: Config
}

/** Makes the kinds of sessions: dialogues with agents, runs of skills, and plans. */
export function sessionKindsOf (options: SessionKindsOptions): SessionKinds {
  return { agents: agentSessions(options.config), skills: skillSessions(options), plans: planSessions(options.operator, options.config) }
}
