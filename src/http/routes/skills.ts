import { type ErrorCode } from '../../base/error-codes.ts'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type Caller } from '../../access/caller.ts'
import { requestInvalid, ServiceError, sessionNotFound, skillFailed, skillNotWaiting } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { type Sessions, type UserInput } from '../../service/sessions/sessions.ts'
import { type StartOfSkill } from '../../service/sessions/start-skill.ts'
import { followTurn } from '../../service/sessions/turn.ts'
import { approvalId } from '../../session/approval.ts'
import { openIn, type Session } from '../../session/session.ts'
import { type App } from '../app-types.ts'
import { BEGINS_SESSION, DECIDES, DRIVES_SESSION, READS_SESSION } from '../route-errors.ts'
import { abortWhenGone } from '../client-gone.ts'
import { nullable, oneOf } from '../openapi/schemas.ts'
import { skillReply, skillTurn, successWith } from '../skills/skill-envelope.ts'
import { describeOutput, describeSkill, describeStart, describeTurn, SkillData, SkillOutputData, SkillStartData, SkillTurnData, stateOf, textOf } from '../skills/skill-view.ts'

const SkillSessionId = Type.Object({ id: Type.String({ maxLength: 512, description: '`skillSessionId`', examples: ['0123456789abcdef0123456789abcdef'] }) })

const text = (maxLength: number, description: string) => Type.String({ maxLength, description })

/** Which command is answered about: an answer to any other is refused. */
const SHOWN = { approvalId: Type.Optional(text(100, '`approval.id` of what was shown')), digest: Type.Optional(text(100, '`approval.digest` of what was shown')) }

/** Longer texts of users and outputs of commands are refused. */
const MAX_TEXT = 100_000
const MAX_OUTPUT = 1_000_000

const StartBody = Type.Object({
  terminalSessionId: Type.Optional(text(200, 'Where commands run: a target of the operator\'s file; `manual` leaves them to you')),
  skillId: Type.String({ minLength: 1, maxLength: 512, description: 'As `GET /api/skills` has it' }),
  skillPath: nullable(Type.String({ maxLength: 1000 }), { description: '`path` of a list of skills: the file of one that stands on a target, or the id of one that is registered. It goes before `skillId`' }),
  skillSource: nullable(oneOf(['project', 'remote']), { description: 'Where a skill that is not registered is looked for on the target' }),
  params: nullable(Type.Object({}, { additionalProperties: true }), { description: 'Values of the skill\'s parameters' }),
  prompt: nullable(text(MAX_TEXT, 'In place of `Execute skill: {name}`')),
  execution: Type.Optional(oneOf(['manual', 'approve', 'auto'], { description: 'Who runs commands: you, the service after an approval, or the service where its operator lets it' })),
  autoContinue: Type.Optional(Type.Boolean({ description: 'Whether a message is followed by the next step at once, without `/continue`' })),
  maxSteps: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'No more than the skill itself has' }))
}, { examples: [{ terminalSessionId: 'manual', skillId: 'git-quick-commit' }] })

const ResultBody = Type.Object({
  stdout: nullable(Type.String({ maxLength: MAX_OUTPUT })),
  stderr: nullable(Type.String({ maxLength: MAX_OUTPUT })),
  exitCode: nullable(Type.Integer()),
  skipped: Type.Optional(Type.Boolean({ description: 'The command was not run' }))
})

const Cancelled = Type.Object({ message: Type.String() })

/** What comes of a skill that runs, or does not wait for this. */
const RUNS_SKILL: readonly ErrorCode[] = ['SKILL_NOT_WAITING', 'SKILL_FAILED', 'INTERNAL']

const CONFLICTS = { input: 'Skill is not waiting for user input', result: 'Skill is not waiting for command result' } as const

/** What 500 means below /api/skills. */
const FAILS = '500 `SKILL_FAILED`: the skill has ended, since its model could not be asked, said nothing that can be read, or its budget is used up.'

/** Runs of skills, as their clients know them (S-36 to S-40). */
export function skillRoutes (app: App, { sessions, startOfSkill }: { readonly sessions: Sessions, readonly startOfSkill: StartOfSkill }): void {
  app.post('/api/skills/start', {
    config: { role: 'run', fails: [...BEGINS_SESSION, 'TARGETS_NOT_OFFERED', ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'startSkill', summary: 'Start a skill', description: `Waits up to 30 s for what the model says first; then 202. \`Idempotency-Key\` makes a request that is sent again start no second one. ${FAILS}`, body: StartBody, response: skillTurn(SkillStartData) }
  }, async (request, reply) => {
    const { caller, generation, headers, body: { terminalSessionId, skillId, skillPath, skillSource, params, prompt, execution, autoContinue, maxSteps } } = request
    if (terminalSessionId === undefined || terminalSessionId === '') throw requestInvalid('terminalSessionId is required', { part: 'body' })
    const start = await startOfSkill({ generation, caller, id: skillId, path: skillPath ?? undefined, source: skillSource ?? undefined, params: (params ?? {}) as JsonObject, prompt: prompt ?? '', target: terminalSessionId, execution, maxSteps, autoContinue: autoContinue === true, requestId: request.id })
    const { id } = await sessions.start({ caller, start, key: keyOf(headers) })
    const session = await follow(caller, id, 0, reply)
    return successWith(describeStart(session))
  })

  app.post('/api/skills/:id/message', {
    config: { role: 'run', fails: [...DRIVES_SESSION, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'answerSkill', summary: 'Answer a question of a skill', description: `An empty answer skips a question that is optional. Where \`aiResponse.isInterrupted\` is true, \`again\` runs the command again, \`skip\` does without it, and anything else is what it printed. ${FAILS}`, params: SkillSessionId, body: Type.Object({ userMessage: Type.String({ maxLength: MAX_TEXT }) }), response: skillTurn(SkillTurnData) }
  }, (request, reply) => sendInput(request, reply, request.params.id, { text: request.body.userMessage }, () => CONFLICTS.input))

  app.post('/api/skills/:id/command-result', {
    config: { role: 'run', fails: [...DRIVES_SESSION, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'sendCommandResult', summary: 'Tell what a command came to that you have run', params: SkillSessionId, body: ResultBody, response: skillTurn(SkillTurnData) }
  }, (request, reply) => {
    const { params: { id }, body: { stdout, stderr, exitCode, skipped } } = request
    const data = { stdout: stdout ?? '', stderr: stderr ?? '', exitCode: exitCode ?? 0 }
    return sendInput(request, reply, id, { action: skipped === true ? { name: 'skip', data: {} } : { name: 'command_result', data } }, () => CONFLICTS.result)
  })

  app.post('/api/skills/:id/continue', {
    config: { role: 'run', fails: [...DRIVES_SESSION, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'continueSkill', summary: 'Go on after a message', params: SkillSessionId, response: skillTurn(SkillTurnData) }
  }, (request, reply) => sendInput(request, reply, request.params.id, { action: { name: 'continue', data: {} } }, state => `Skill is in state '${state}', not 'idle'`))

  app.post('/api/skills/:id/skip', {
    config: { role: 'run', fails: [...DECIDES, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'skipCommand', summary: 'Do without the command that a skill proposes', description: 'Whatever it is when the request comes, unless the request says which one.', params: SkillSessionId, body: nullable(Type.Object(SHOWN)), response: skillTurn(SkillTurnData) }
  }, async (request, reply) => {
    const { caller, params: { id }, body } = request
    const before = await skillOf(caller, id)
    const [held] = openIn(before, 'held')
    const isNamed = body?.approvalId !== undefined || body?.digest !== undefined
    if (held === undefined && !isNamed) return await sendInput(request, reply, id, { action: { name: 'skip', data: {} } }, () => CONFLICTS.result)
    const which = isNamed ? body : { approvalId: approvalId(id, held?.effect.id ?? '') }
    const { session: { seq } } = await sessions.answer(caller, id, { ...which, decision: 'reject' })
    return successWith(describeTurn(await follow(caller, id, seq - 1, reply)))
  })

  app.post('/api/skills/:id/approve', {
    config: { role: 'approve', fails: [...DECIDES, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'approveCommand', summary: 'Let the service run the command that a skill proposes', description: 'The one that was shown with `approvalId` or `digest`, of which the request has to have one; or another one in its place, for which the operator\'s rules hold too. A request that is sent again counts once; when something else waits by now, it is 409 `APPROVAL_OUTDATED`. Whoever started the skill gets what came of it; others get where it was.', params: SkillSessionId, body: Type.Object({ ...SHOWN, command: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT })) }), response: skillTurn(SkillTurnData) }
  }, async (request, reply) => {
    const { caller, params: { id }, body } = request
    const { session: before } = await sessions.approvalsIn(caller, id)
    if (!isSkill(before)) throw sessionNotFound(id)
    const { owner } = before.start
    const { session: decided } = await sessions.answer(caller, id, { ...body, decision: 'approve' })
    const session = owner === caller.name ? await follow(caller, id, decided.seq - 1, reply) : decided
    return successWith(describeTurn(session))
  })

  app.get('/api/skills/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Skills'], operationId: 'getSkillSession', summary: 'Get how far a skill is', params: SkillSessionId, response: skillReply(SkillData) }
  }, async ({ caller, params }) => successWith(describeSkill(await skillOf(caller, params.id))))

  app.get('/api/skills/:id/output', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Skills'], operationId: 'getSkillOutput', summary: 'Get what the last command of a skill printed', params: SkillSessionId, response: skillReply(SkillOutputData) }
  }, async ({ caller, params }) => successWith(describeOutput(await skillOf(caller, params.id))))

  app.delete('/api/skills/:id', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Skills'], operationId: 'cancelSkill', summary: 'End a skill', params: SkillSessionId, response: skillReply(Cancelled) }
  }, async ({ caller, params: { id } }) => {
    await skillOf(caller, id)
    await sessions.cancel(caller, id)
    return successWith({ message: 'Skill session cancelled' })
  })

  /** @throws SESSION_NOT_FOUND, also for a session of another kind */
  async function skillOf (caller: Caller, id: string): Promise<Session> {
    const session = await sessions.get(caller, id)
    if (!isSkill(session)) throw sessionNotFound(id)
    return session
  }

  /** @param notNow what is said when the skill waits for something else */
  async function sendInput ({ caller, headers }: FastifyRequest, reply: FastifyReply, id: string, input: UserInput, notNow: (state: string) => string) {
    await skillOf(caller, id)
    const { seq } = await sessions.input(caller, id, { ...input, key: keyOf(headers) }).catch(async (error: unknown) => {
      const isBusy = error instanceof ServiceError && (error.code === 'SESSION_BUSY' || error.code === 'SESSION_ENDED')
      throw isBusy ? skillNotWaiting(notNow(stateOf(await skillOf(caller, id)))) : error
    })
    const session = await follow(caller, id, seq - 1, reply)
    return successWith(describeTurn(session))
  }

  /** Waits for what comes next. @throws SKILL_FAILED */
  async function follow (caller: Caller, id: string, after: number, reply: FastifyReply): Promise<Session> {
    const { session, isOpen } = await followTurn(sessions, caller, id, after, toAbortSignal(abortWhenGone(reply)))
    if (session.status === 'failed') throw skillFailed(id, textOf(session) === '' ? 'The service has stopped it; its events say why' : textOf(session))
    reply.code(isOpen ? 202 : 200)
    return session
  }
}

function isSkill ({ start }: Session): boolean {
  return start.definition.startsWith('skills/')
}

function keyOf (headers: FastifyRequest['headers']): string | undefined {
  return headers['idempotency-key'] as string | undefined
}
