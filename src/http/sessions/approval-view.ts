import { type Static, Type } from '../../base/schema-builder.ts'
import { describeApproval } from '../../session/approval.ts'
import { type Decided } from '../../session/decide.ts'
import { oneOf } from '../base/schemas.ts'

/** The schema of an approval that waits for a person, as every reply shows it. */
export const ApprovalView = Type.Object({
  id: Type.String(),
  session: Type.String({ description: 'The answer goes there' }),
  root: Type.String({ description: 'The session above all others, which somebody has started; the same where no other one has started this one' }),
  path: Type.Array(Type.String(), { description: 'Definitions from the root to the session: `agents/guide`, `agents/research.web`' }),
  definition: Type.String(),
  owner: Type.String(),
  title: Type.String({ description: 'What the session is about' }),
  rule: Type.String({ description: 'Why a person is asked' }),
  digest: Type.String({ description: 'Of all that is shown under `effect`, at this place of this session; sent with the answer, it is an answer to this and nothing else' }),
  effect: Type.Unknown({ description: 'What would be done: of a command the target, the folder (with `folderUnknown` where a terminal does not tell it), and the whole command; of a tool its arguments; of a change its actions' }),
  askedAt: Type.String({ format: 'date-time' }),
  expiresAt: Type.String({ format: 'date-time' }),
  step: Type.Optional(Type.Integer()),
  maxSteps: Type.Optional(Type.Integer()),
  lastOutput: Type.Optional(Type.String({ description: 'The end of what the last command printed' }))
})

/** The schema of a person's decision about an approval. */
export const Decision = Type.Object({
  decision: oneOf(['approve', 'reject']),
  by: Type.String({ description: 'Name of a token' }),
  at: Type.String({ format: 'date-time' }),
  command: Type.Optional(Type.String({ description: 'That runs in place of the one that was shown' })),
  reason: Type.Optional(Type.String())
})

/** Describes an approval (an action that waits for a person's decision) for a reply. */
export const viewApproval = describeApproval

export function viewDecision ({ decision, by, at, command, reason }: Decided): Static<typeof Decision> {
  return { decision, by, at: new Date(at).toISOString(), ...(command === undefined ? {} : { command }), ...(reason === undefined ? {} : { reason }) }
}
