import { type Static, Type } from '../../base/schema-builder.ts'
import { type Below, type Tree } from '../../service/sessions/reading/below.ts'
import { type Head } from '../../session/model.ts'
import { approvalsIn } from '../../session/approval.ts'
import { type Session } from '../../session/session.ts'
import { ApprovalView, viewApproval } from './approval-view.ts'
import { oneOf } from '../base/schemas.ts'

const STATUSES = ['running', 'waiting_input', 'waiting_approval', 'completed', 'failed', 'cancelled', 'expired'] as const

export const SessionStatus = oneOf([...STATUSES], { description: 'What it is doing; the last four are ends' })

/** The schema of a session in lists. */
export const SessionSummary = Type.Object({
  id: Type.String(),
  definition: Type.String({ description: 'What it runs, as `agents/helper`' }),
  status: SessionStatus,
  owner: Type.String({ description: 'Name of the token that started it' }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  parent: Type.Optional(Type.String({ description: 'The session that has started it, if one has' })),
  root: Type.Optional(Type.String({ description: 'The session above all others' })),
  waitsFor: Type.Optional(oneOf(['approval', 'input'], { description: 'What a session below it waits for' })),
  childrenWaiting: Type.Optional(Type.Integer({ description: 'How many sessions below it wait for a person' })),
  reason: Type.Optional(Type.String({ description: 'Why this process can neither open it nor go on with it: it was begun by another version' }))
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

/** The schema of a page of the messages of a session. */
export const MessagesReply = Type.Object({
  messages: Type.Array(Type.Object({
    seq: Type.Integer({ description: 'With `n` the place of the event that it is made of' }),
    n: Type.Integer(),
    at: Type.String({ format: 'date-time' }),
    by: Type.String({ description: 'Name of the token that said it; empty for a model, a tool, and the service' }),
    role: oneOf(['user', 'assistant', 'tool', 'service'], { description: '`service`: a line of the agent about its work, an error, a change of files' }),
    text: Type.String(),
    tool: Type.Optional(Type.String({ description: 'What the model called, or the check that was made' })),
    command: Type.Optional(Type.String({ description: 'Of an assistant: what it proposed; of a tool: what ran' })),
    output: Type.Optional(Type.String({ description: 'What a tool gave, or a command printed' }))
  })),
  next: Type.Optional(Type.String({ description: 'Sent as `after`, it gives the next page; missing on the last one' })),
  hasEarlier: Type.Optional(Type.Boolean({ description: 'With `last`: whether more was said before these' }))
})

/** The fields of a session that its summary needs. */
type Summarised = Pick<Head, 'id' | 'definition' | 'status' | 'owner' | 'createdAt' | 'updatedAt' | 'parent' | 'root'> & Below & { readonly reason?: string }

export function summariseSession ({ id, definition, status, owner, createdAt, updatedAt, parent, root, waitsFor, childrenWaiting, reason }: Summarised) {
  return {
    id,
    definition,
    status,
    owner,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    ...(parent === undefined ? {} : { parent }),
    ...(root === undefined ? {} : { root }),
    ...(waitsFor === undefined ? {} : { waitsFor }),
    ...(childrenWaiting === undefined ? {} : { childrenWaiting }),
    ...(reason === undefined ? {} : { reason })
  }
}

/** The schema of a session with its child sessions. */
export const SessionTree = Type.Object({
  ...SessionSummary.properties,
  children: Type.Array(Type.Unknown({ description: 'Each as this, with children of its own' }))
})

export function describeTree ({ head, children }: Tree): Static<typeof SessionTree> {
  return { ...summariseSession(head), children: children.map(describeTree) }
}

export function describeSession (session: Session) {
  const { start: { definition, owner, revision, forkOf, parent }, seq, used: { steps, tokens }, engine } = session
  return {
    ...summariseSession({ ...session, definition, owner, ...(parent === undefined ? {} : { parent: parent.session, root: parent.root }) }),
    revision,
    seq,
    word: engine.view.stateName,
    used: { steps, tokens },
    approvals: approvalsIn(session).map(viewApproval),
    ...(forkOf === undefined ? {} : { forkOf })
  }
}
