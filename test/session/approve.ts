import { type AnswerFact, decisionOn } from '../../src/session/approvals.ts'
import { NO_POLICY_CONTEXT } from '../../src/session/gate.ts'
import { type Session } from '../../src/session/session.ts'

/**
 * The fact that somebody has allowed an effect as it was shown; one that is not held was never shown.
 * @param command in place of its own
 */
export function approved (session: Session, effect: string, command?: string): AnswerFact {
  const fact = decisionOn(session, effect, { by: 'bob', decision: 'approve', command }, NO_POLICY_CONTEXT.about)
  return fact ?? { kind: 'decided', effect, by: 'bob', decision: 'approve' }
}
