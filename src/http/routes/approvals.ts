import { Type } from '../../base/schema-builder.ts'
import { type Decision } from '../../session/model.ts'
import { type Sessions } from '../../service/sessions/sessions.ts'
import { type App } from '../app-types.ts'
import { oneOf, replies } from '../openapi/schemas.ts'
import { approvalId, describeSession, SessionReply } from '../session-view.ts'

const ApprovalReply = Type.Object({
  id: Type.String(),
  session: Type.String(),
  definition: Type.String(),
  owner: Type.String(),
  rule: Type.String({ description: 'Why a person is asked' }),
  digest: Type.String({ description: 'Of what would be done; sent with the answer, it is an answer to this and nothing else' }),
  effect: Type.Unknown({ description: 'What would be done' })
})

const Answer = Type.Object({
  decision: oneOf(['approve', 'reject']),
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
  command: Type.Optional(Type.String({ minLength: 1, maxLength: 100_000, description: 'To run in place of the command that was shown; the operator\'s rules hold for it too' })),
  digest: Type.Optional(Type.String({ maxLength: 100, description: 'Of what was shown' }))
})

const ApprovalId = Type.Object({ id: Type.String({ pattern: '^[0-9a-f]{32}:\\d{1,9}\\.\\d{1,9}$', description: 'Of an approval: that of its session, and its effect', examples: ['0123456789abcdef0123456789abcdef:4.0'] }) })

/** How many sessions are looked through. */
const MAX_SESSIONS = 500

/** What sessions may do only when a person allows it. */
export function approvalRoutes (app: App, sessions: Sessions): void {
  app.get('/api/approvals', {
    config: { role: 'approve' },
    schema: { tags: ['Sessions'], operationId: 'listApprovals', summary: 'What waits for a person', response: replies(Type.Array(ApprovalReply), 400, 503) }
  }, async () => {
    const approvals = await sessions.approvals(MAX_SESSIONS)
    return approvals.map(({ session: { id, start }, effect, rule, digest, content }) => ({ id: approvalId(id, effect), session: id, definition: start.definition, owner: start.owner, rule, digest, effect: content }))
  })

  app.post('/api/approvals/:id', {
    config: { role: 'approve' },
    schema: { tags: ['Sessions'], operationId: 'decideApproval', summary: 'Allow or refuse what waits', description: 'The first answer counts; a second one gets what came of it.', params: ApprovalId, body: Answer, response: replies(SessionReply, 400, 404, 409, 413, 415, 503) }
  }, async ({ caller, params, body }) => {
    const [session = '', effect = ''] = params.id.split(':')
    return describeSession(await sessions.decide(caller, session, effect, { ...body, decision: body.decision as Decision }))
  })
}
