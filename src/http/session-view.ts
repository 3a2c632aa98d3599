import { Type } from '../base/schema-builder.ts'
import { type Head } from '../session/model.ts'
import { approvalsIn } from '../session/approval.ts'
import { type Session } from '../session/session.ts'
import { ApprovalView, viewApproval } from './approval-view.ts'
import { oneOf } from './openapi/schemas.ts'

const STATUSES = ['running', 'waiting_input', 'waiting_approval', 'completed', 'failed', 'cancelled', 'expired'] as const

export const SessionStatus = oneOf([...STATUSES], { description: 'What it is doing; the last four are ends' })

/** A session as lists show it. */
export const SessionSummary = Type.Object({
  id: Type.String(),
  definition: Type.String({ description: 'What it runs, as `agents/helper`' }),
  status: SessionStatus,
  owner: Type.String({ description: 'Name of the token that started it' }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' })
})

export const SessionReply = Type.Object({
  ...SessionSummary.properties,
  revision: Type.String({ description: 'Of the definition that it began with' }),
  seq: Type.Integer({ description: 'How many transitions it has' }),
  word: Type.String({ description: 'Where it is, in the words of its engine: `await_input`, `classify`, …' }),
  used: Type.Object({ steps: Type.Integer({ description: 'Calls of models and tools' }), tokens: Type.Integer() }),
  approvals: Type.Array(ApprovalView, { description: 'What waits for an approval' }),
  forkOf: Type.Optional(Type.Object({ session: Type.String(), seq: Type.Integer() }))
})

export function summariseSession ({ id, definition, status, owner, createdAt, updatedAt }: Pick<Head, 'id' | 'definition' | 'status' | 'owner' | 'createdAt' | 'updatedAt'>) {
  return { id, definition, status, owner, createdAt: new Date(createdAt).toISOString(), updatedAt: new Date(updatedAt).toISOString() }
}

export function describeSession (session: Session) {
  const { start: { definition, owner, revision, forkOf }, seq, used: { steps, tokens }, engine } = session
  return {
    ...summariseSession({ ...session, definition, owner }),
    revision,
    seq,
    word: engine.view.word,
    used: { steps, tokens },
    approvals: approvalsIn(session).map(viewApproval),
    ...(forkOf === undefined ? {} : { forkOf })
  }
}
