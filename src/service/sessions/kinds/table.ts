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

/** The parts of the service, and the settings, that the kinds of sessions need. */
export interface SessionKindsOptions extends SkillKindOptions {
  readonly operator: OperatorFile
  readonly config: Config
}

/** Makes all kinds of sessions. */
export function sessionKindsOf (options: SessionKindsOptions): SessionKinds {
  return { agents: agentSessions(options.config), skills: skillSessions(options), plans: planSessions(options.operator, options.config) }
}
