import { Type } from '../../base/schema-builder.ts'
import { nullable, oneOf } from '../base/schemas.ts'

export const SkillSessionId = Type.Object({ id: Type.String({ maxLength: 512, description: '`skillSessionId`', examples: ['0123456789abcdef0123456789abcdef'] }) })

const text = (maxLength: number, description: string) => Type.String({ maxLength, description })

/** The fields that name the command which the user was shown. If another command waits when the user's decision arrives, the decision is refused. */
const SHOWN = {
  approvalId: Type.Optional(text(100, '`approval.id` of what was shown')),
  digest: Type.Optional(text(100, '`approval.digest` of what was shown'))
}

/** The longest text that a user may send to a skill, and the longest output of a command that a user may report, in characters. */
const MAX_TEXT = 100_000
const MAX_OUTPUT = 1_000_000

/** The body of the request that starts a skill. */
export const StartBody = Type.Object({
  terminalSessionId: Type.Optional(text(200, 'Where commands run: a terminal of yours, or a target of the operator\'s file; `manual` leaves them to you')),
  skillId: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'As `GET /api/skills` has it; needed without `skillPath`' })),
  skillPath: nullable(Type.String({ maxLength: 1000 }), { description: '`path` of a list of skills: the file of one that stands on a target, or the id of one that is registered. It goes before `skillId`' }),
  skillSource: nullable(oneOf(['project', 'remote']), { description: 'Where a skill that is not registered is looked for on the target' }),
  params: nullable(Type.Object({}, { additionalProperties: true }), { description: 'Values of the skill\'s parameters' }),
  prompt: nullable(text(MAX_TEXT, 'In place of `Execute skill: {name}`')),
  execution: Type.Optional(oneOf(['manual', 'approve', 'auto'], { description: 'Who runs commands: you, the service after an approval, or the service where its operator lets it' })),
  autoContinue: Type.Optional(Type.Boolean({ description: 'Whether a message is followed by the next step at once, without `/continue`' })),
  maxSteps: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'No more than the skill itself has' }))
}, { examples: [{ terminalSessionId: 'manual', skillId: 'git-quick-commit' }] })

/** The body with the result of a command that the user has run by hand. */
export const ResultBody = Type.Object({
  stdout: nullable(Type.String({ maxLength: MAX_OUTPUT })),
  stderr: nullable(Type.String({ maxLength: MAX_OUTPUT })),
  exitCode: nullable(Type.Integer()),
  skipped: Type.Optional(Type.Boolean({ description: 'The command was not run' }))
})

export const MessageBody = Type.Object({ userMessage: Type.String({ maxLength: MAX_TEXT }) })

export const SkipBody = nullable(Type.Object(SHOWN))

export const ApproveBody = Type.Object({ ...SHOWN, command: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT })) })
