import { type Config } from '../../../config/config.ts'
import { type OperatorFile } from '../../../config/operator.ts'
import { agentSessions, type AgentRequest } from './agent.ts'
import { planSessions, type PlanRequest } from './plan.ts'
import { type SkillKindOptions, type SkillRequest, skillSessions } from './skill.ts'
import { type SessionKind } from './session-kind.ts'

/** The kinds of sessions that the service has. */
export interface SessionKinds {
  readonly agents: SessionKind<AgentRequest>
  readonly skills: SessionKind<SkillRequest>
  readonly plans: SessionKind<PlanRequest>
}

/** The services and settings that the kinds of sessions are made with. */
export interface SessionKindsOptions extends SkillKindOptions {
  readonly operator: OperatorFile
  readonly config: Config
}

/** Makes the table of the kinds of sessions. */
export function sessionKindsOf (options: SessionKindsOptions): SessionKinds {
  return { agents: agentSessions(options.config), skills: skillSessions(options), plans: planSessions(options.operator, options.config) }
}
