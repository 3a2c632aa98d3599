import { requestInvalid } from '../../base/errors.ts'
import { Type } from '../../schema/builder.ts'
import { type SessionService } from '../../service/sessions/session-service.ts'
import { type App } from '../app.ts'
import { DECIDES, oneOf, READS_SESSION } from '../schemas.ts'
import { ApprovalView, Decision, describeSession, SessionReply, viewApproval, viewDecision } from './sessions.ts'

const Page = Type.Object({ approvals: Type.Array(ApprovalView), next: Type.Optional(Type.String({ description: '`after` of the next page' })) })

const Query = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 100, description: 'Sessions of one page' }),
  after: Type.Optional(Type.String({ maxLength: 100, description: '`next` of the page before' })),
  session: Type.Optional(Type.String({ maxLength: 100, description: 'What waits in this session alone' })),
  root: Type.Optional(Type.String({ maxLength: 100, description: 'What waits in this session and in all that were started below it' }))
})

const Answer = Type.Object({
  decision: oneOf(['approve', 'reject']),
  digest: Type.Optional(Type.String({ maxLength: 100, description: 'Of what was shown; nothing is approved without it' })),
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
  command: Type.Optional(Type.String({ minLength: 1, maxLength: 100_000, description: 'To run in place of the command that was shown; the operator\'s rules hold for it too' }))
}, { examples: [{ decision: 'reject', reason: 'not today' }] })

const OneApproval = Type.Object({ ...ApprovalView.properties, decided: Type.Optional(Decision) })

const ApprovalId = Type.Object({ id: Type.String({ maxLength: 512, description: 'Of an approval: that of its session, and its effect', examples: ['0123456789abcdef0123456789abcdef:4.0'] }) })

export function approvalRoutes (app: App, sessions: SessionService): void {
  app.get('/api/approvals', {
    config: { role: 'approve' },
    schema: { tags: ['Sessions'], operationId: 'listApprovals', summary: 'What waits for a person', description: 'The oldest of each owner first, then the second of each: no owner hides what others wait for.', querystring: Query, response: { 200: Page } }
  }, async ({ caller, query: { limit, after, session, root } }) => {
    const { approvals: waiting, next } = await sessions.approvals(caller, { limit, after, session, root })
    return { approvals: waiting.map(viewApproval), next }
  })

  app.get('/api/approvals/:id', {
    config: { role: 'approve', fails: [...READS_SESSION, 'APPROVAL_NOT_FOUND'] },
    schema: { tags: ['Sessions'], operationId: 'getApproval', summary: 'Get what waits for a person, or was decided', params: ApprovalId, response: { 200: OneApproval } }
  }, async ({ caller, params }) => {
    const { approval, decided } = await sessions.approval(caller, params.id)
    return { ...viewApproval(approval), decided: decided === undefined ? undefined : viewDecision(decided) }
  })

  app.post('/api/approvals/:id', {
    config: { role: 'approve', fails: [...DECIDES, 'APPROVAL_NOT_FOUND'] },
    schema: { tags: ['Sessions'], operationId: 'decideApproval', summary: 'Allow or refuse what waits', description: 'An answer that is sent again counts once; one that comes too late is 409 `APPROVAL_DECIDED`. A digest of anything but what waits now is 409 `APPROVAL_OUTDATED`. Both have what waits now as `details.next`.', params: ApprovalId, body: Answer, response: { 200: Type.Object({ ...SessionReply.properties, decided: Decision }) } }
  }, async ({ caller, params, body: { decision, digest, reason, command } }) => {
    if (decision === 'approve' && digest === undefined) {
      throw requestInvalid('body: digest: expected that of what was shown, which is what is approved', { part: 'body' })
    }
    const { session, held, decided } = await sessions.decide(caller, params.id, { decision, digest, reason, command })
    return { ...describeSession(session), approvals: held.map(viewApproval), decided: viewDecision(decided) }
  })
}
