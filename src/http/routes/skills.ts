import type { FastifyReply, FastifyRequest } from 'fastify'
import { requestInvalid, ServiceError, skillFailed, skillNotWaiting } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { type Static, Type } from '../../schema/builder.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { callsOf, contentOf } from '../../llm/history.ts'
import type { Service } from '../../service.ts'
import type { TurnResult, UserInput, RequestContext } from '../../service/sessions/session-service.ts'
import type { SkillRequest } from '../../service/sessions/skill-sessions.ts'
import { approvalsIn } from '../../session/approvals.ts'
import { resultOf } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import type { App } from '../app.ts'
import { DECIDES, DRIVES_SESSION, nullable, oneOf, READS_SESSION, RUNS_SKILL, STARTS_SKILL } from '../schemas.ts'
import { skillReply, skillTurn, successWith } from '../error-replies.ts'
import { ApprovalView, viewApproval, requestContextOf } from './sessions.ts'

/** In UTF-16 units of their JSON; older messages are left out. */
const MAX_MESSAGES = 1024 * 1024

/** After an interrupted or unrun command it is the service's own question about that command. */
const AiResponse = Type.Object({
  type: oneOf(['CMD', 'ASK', 'MESSAGE', 'DONE']),
  content: Type.String({ description: 'With its tag' }),
  command: Type.Optional(Type.String()),
  question: Type.Optional(Type.String()),
  required: Type.Optional(Type.Boolean({ description: 'Whether the question needs an answer' })),
  message: Type.Optional(Type.String()),
  fallback: Type.Optional(Type.Boolean({ description: 'The model did not say that it is a command' })),
  isInterrupted: Type.Optional(Type.Boolean({ description: 'The service asks: nobody knows whether `command` was done. `again` runs it again, `skip` does without it, anything else is what it printed' })),
  isBusy: Type.Optional(Type.Boolean({ description: 'The service asks: `command` was not run, since its terminal was busy for too long. `again` tries again, `without` runs it and all further ones without the terminal, `skip` leaves it out, anything else is for the model' }))
})

const State = oneOf(['idle', 'waiting_cmd', 'waiting_user', 'done', 'cancelled', 'failed', 'expired'])

const SkillTurnData = Type.Object({
  aiResponse: nullable(AiResponse, { description: 'What the model said last, or what is asked about a command that was interrupted, or not run; null before that' }),
  state: State,
  step: Type.Integer(),
  text: Type.String({ description: 'What it ended with' }),
  approval: Type.Union([ApprovalView, Type.Null()], { description: 'The command that waits for a person' })
})

const SkillApprovedData = Type.Object({
  ...SkillTurnData.properties,
  aiResponse: nullable(AiResponse, { description: 'For whoever owns the session alone' }),
  text: Type.String({ description: 'Likewise' }),
  lastOutput: Type.Optional(Type.String({ description: 'The last lines that the last command printed, for whoever does not own the session' }))
})

const SkillStartData = Type.Object({
  skillSessionId: Type.String(),
  skillName: Type.String(),
  skillDescription: Type.String(),
  ...SkillTurnData.properties
})

const SkillData = Type.Object({
  terminalSessionId: Type.String({ description: 'Where it was started: a terminal, a target, or `manual`' }),
  serverId: Type.Union([Type.String(), Type.Null()], { description: 'The target on which its commands run; null where its user runs them' }),
  state: State,
  step: Type.Integer(),
  maxSteps: Type.Integer(),
  pendingCommand: Type.Union([Type.String(), Type.Null()]),
  approval: SkillTurnData.properties.approval,
  aiResponse: SkillTurnData.properties.aiResponse,
  createdAt: Type.String({ format: 'date-time' }),
  lastActivity: Type.String({ format: 'date-time' }),
  skillName: Type.String(),
  skillDescription: Type.String(),
  messages: Type.Array(Type.Object({
    role: oneOf(['system', 'user', 'assistant', 'tool'], { description: '`tool`: what came of a call' }),
    content: Type.String(),
    calls: Type.Optional(Type.Array(Type.Object({ name: Type.String(), arguments: Type.String({ description: 'JSON, as the model wrote it' }) }), { description: 'What the model calls, in a skill whose protocol is `tools`' }))
  }), { description: 'What the model has been sent and has said, the newest last' }),
  messagesLeftOut: Type.Integer({ description: 'How many of them, the oldest, are not shown, since all together are too long' }),
  outputBuffer: Type.Array(Type.String(), { description: 'The last lines that the last command printed' }),
  text: Type.String({ description: 'What it ended with' })
})

const SkillOutputData = Type.Object({ lastOutput: Type.String({ description: 'The last lines' }), state: State, step: Type.Integer() })

type SkillMessage = Static<typeof SkillData>['messages'][number]

/** The engine's state or, for a session that was cancelled, failed or expired, the session's status. */
function stateOf ({ status, engine }: Session): Static<typeof State> {
  if (status === 'cancelled' || status === 'expired' || status === 'failed') return status
  return engine.view.stateName as Static<typeof State>
}

/** Who may only decide approvals sees the approval and the last output, nothing that the model has read or said. */
export function describeTurn ({ session, isOwn }: Pick<TurnResult, 'session' | 'isOwn'>): Static<typeof SkillApprovedData> {
  const { reply, step, lastOutput } = resultOf(session, SKILL)
  const [state, approval] = [stateOf(session), approvalIn(session)]
  return isOwn ? { aiResponse: reply, state, step, text: textOf(session), approval } : { aiResponse: null, state, step, text: '', approval, lastOutput }
}

function describeStart (progress: TurnResult): Static<typeof SkillStartData> {
  const { session } = progress
  const { name, description } = resultOf(session, SKILL)
  return { skillSessionId: session.id, skillName: name, skillDescription: description, ...describeTurn(progress) }
}

export function describeSkill (session: Session): Static<typeof SkillData> {
  const { name, description, terminal, target, system, messages, step, maxSteps, pendingCommand, lastOutput, reply } = resultOf(session, SKILL)
  const all: readonly SkillMessage[] = [...system === '' ? [] : [{ role: 'system' as const, content: system }], ...messages.map(describeMessage)]
  const shown = newestOf(all)
  return {
    terminalSessionId: terminal,
    serverId: target === '' ? null : target,
    state: stateOf(session),
    step,
    maxSteps,
    pendingCommand: pendingCommand === '' ? null : pendingCommand,
    approval: approvalIn(session),
    aiResponse: reply,
    createdAt: new Date(session.createdAt).toISOString(),
    lastActivity: new Date(session.updatedAt).toISOString(),
    skillName: name,
    skillDescription: description,
    messages: shown,
    messagesLeftOut: all.length - shown.length,
    outputBuffer: lastOutput === '' ? [] : lastOutput.split('\n'),
    text: textOf(session)
  }
}

function describeMessage (message: JsonObject): SkillMessage {
  const role = message['role']
  const calls = callsOf(message).map(({ name, arguments: given }) => ({ name, arguments: given }))
  return { role: role === 'user' || role === 'assistant' ? role : 'tool', content: contentOf(message), ...(calls.length === 0 ? {} : { calls }) }
}

function newestOf (messages: readonly SkillMessage[]): SkillMessage[] {
  let length = 0
  const from = messages.findLastIndex(message => (length += JSON.stringify(message).length) > MAX_MESSAGES)
  return messages.slice(from + 1)
}

function describeOutput (session: Session): Static<typeof SkillOutputData> {
  const { lastOutput, step } = resultOf(session, SKILL)
  return { lastOutput, state: stateOf(session), step }
}

/** A skill asks for one command at a time. */
function approvalIn (session: Session): Static<typeof ApprovalView> | null {
  const [waiting] = approvalsIn(session)
  return waiting === undefined ? null : viewApproval(waiting)
}

function textOf (session: Session): string {
  return session.status === 'cancelled' ? 'Cancelled by user' : resultOf(session, SKILL).text
}

const SkillSessionId = Type.Object({ id: Type.String({ maxLength: 512, description: '`skillSessionId`', examples: ['0123456789abcdef0123456789abcdef'] }) })

const text = (maxLength: number, description: string) => Type.String({ maxLength, description })

/** The fields that name the command which the user was shown. If another command waits when the user's decision arrives, the decision is refused. */
const SHOWN = {
  approvalId: Type.Optional(text(100, '`approval.id` of what was shown')),
  digest: Type.Optional(text(100, '`approval.digest` of what was shown'))
}

/** In characters: a user's text, and a reported command's output. */
const MAX_TEXT = 100_000
const MAX_OUTPUT = 1_000_000

const StartBody = Type.Object({
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

const ResultBody = Type.Object({
  stdout: nullable(Type.String({ maxLength: MAX_OUTPUT })),
  stderr: nullable(Type.String({ maxLength: MAX_OUTPUT })),
  exitCode: nullable(Type.Integer()),
  skipped: Type.Optional(Type.Boolean({ description: 'The command was not run' }))
})

const MessageBody = Type.Object({ userMessage: Type.String({ maxLength: MAX_TEXT }) })

const SkipBody = nullable(Type.Object(SHOWN))

const ApproveBody = Type.Object({ ...SHOWN, command: Type.Optional(Type.String({ minLength: 1, maxLength: MAX_TEXT })) })

const Cancelled = Type.Object({ message: Type.String() })

type NotNow = (state: string) => string

const CONFLICTS: Readonly<Record<'input' | 'result' | 'continue', NotNow>> = {
  input: () => 'Skill is not waiting for user input',
  result: () => 'Skill is not waiting for command result',
  continue: state => `Skill is in state '${state}', not 'idle'`
}

const FAILS = '500 `SKILL_FAILED`: the skill has ended, since its model could not be asked, said nothing that can be read, or its budget is used up.'

const goesOn = skillTurn(SkillTurnData)

/** Paths and replies are those that existing clients of skills expect, and so differ from the rest of the API. */
export function skillRoutes (app: App, { sessions, terminals, sessionKinds: { skills } }: Pick<Service, 'sessions' | 'terminals' | 'sessionKinds'>): void {
  /** Answers when the skill waits or has ended, after 30 s at the latest. @throws SKILL_FAILED */
  async function answer<Data> (
    request: FastifyRequest,
    reply: FastifyReply,
    enter: (visitor: RequestContext) => Promise<TurnResult>,
    describe: (progress: TurnResult) => Data
  ) {
    const progress = await enter(requestContextOf(request, reply))
    const { session, isOpen, isOwn } = progress
    if (session.status === 'failed') throw skillFailed(session.id, (isOwn ? textOf(session) : '') || 'The service has stopped it; its events say why')
    reply.code(isOpen ? 202 : 200)
    return successWith(describe(progress))
  }

  /** `work` is accepted in one state only. @throws SKILL_NOT_WAITING in another one */
  async function whileWaiting (visitor: RequestContext, id: string, notNow: NotNow, work: Promise<TurnResult>): Promise<TurnResult> {
    try {
      return await work
    } catch (error) {
      const isBusy = error instanceof ServiceError && (error.code === 'SESSION_BUSY' || error.code === 'SESSION_ENDED')
      throw isBusy ? skillNotWaiting(notNow(stateOf(await sessions.get(skills, visitor.caller, id)))) : error
    }
  }

  const say = (request: FastifyRequest, reply: FastifyReply, id: string, input: UserInput, notNow: NotNow) =>
    answer(request, reply, visitor => whileWaiting(visitor, id, notNow, sessions.say(skills, visitor, id, input)), describeTurn)

  app.post('/api/skills/start', {
    config: { role: 'run', fails: STARTS_SKILL },
    schema: { tags: ['Skills'], operationId: 'startSkill', summary: 'Start a skill', description: `Waits up to 30 s for what the model says first, with \`Prefer: respond-async\` not at all; then 202. \`Idempotency-Key\` makes a request that is sent again start no second one. ${FAILS}`, body: StartBody, response: skillTurn(SkillStartData) }
  }, (request, reply) => {
    const { generation, body } = request
    const { terminalSessionId: target, skillId: id = '', skillPath, skillSource, params, prompt, execution, autoContinue = false, maxSteps } = body
    if (target === undefined || target === '') throw requestInvalid('terminalSessionId is required', { part: 'body' })
    if (id === '' && (skillPath ?? '') === '') throw requestInvalid('body: expected skillId or skillPath, got neither', { part: 'body' })
    const wanted: SkillRequest = {
      id,
      path: skillPath ?? undefined,
      source: skillSource ?? undefined,
      params: (params ?? {}) as JsonObject,
      prompt: prompt ?? '',
      target,
      execution,
      maxSteps,
      autoContinue
    }
    return answer(request, reply, visitor => sessions.start(skills, visitor, generation, wanted), describeStart)
  })

  app.post('/api/skills/:id/message', {
    config: { role: 'run', fails: [...DRIVES_SESSION, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'answerSkill', summary: 'Answer a question of a skill', description: `An empty answer skips a question that is optional. Where \`aiResponse.isInterrupted\` is true, \`again\` runs the command again, \`skip\` does without it, and anything else is what it printed. Where \`aiResponse.isBusy\` is true, \`again\` tries again, \`without\` does without the terminal, \`skip\` leaves the command out, and anything else is for the model. ${FAILS}`, params: SkillSessionId, body: MessageBody, response: goesOn }
  }, (request, reply) => say(request, reply, request.params.id, { text: request.body.userMessage }, CONFLICTS.input))

  app.post('/api/skills/:id/command-result', {
    config: { role: 'run', fails: [...DRIVES_SESSION, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'sendCommandResult', summary: 'Tell what a command came to that you have run', description: 'Where `stdout` is empty and the skill was started in a terminal, it is what the terminal has shown last.', params: SkillSessionId, body: ResultBody, response: goesOn }
  }, async (request, reply) => {
    const { caller, body: { stdout, stderr, exitCode, skipped }, params: { id } } = request
    const { terminal } = resultOf(await sessions.getUsable(skills, caller, id), SKILL)
    const printed = terminals.outputOf(caller, terminal, stdout ?? '')
    const result = { name: 'command_result', data: { stdout: printed, stderr: stderr ?? '', exitCode: exitCode ?? 0 } }
    return await say(request, reply, id, { action: skipped === true ? SKIP : result }, CONFLICTS.result)
  })

  app.post('/api/skills/:id/continue', {
    config: { role: 'run', fails: [...DRIVES_SESSION, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'continueSkill', summary: 'Go on after a message', params: SkillSessionId, response: goesOn }
  }, (request, reply) => say(request, reply, request.params.id, { action: { name: 'continue', data: {} } }, CONFLICTS.continue))

  app.post('/api/skills/:id/skip', {
    config: { role: 'run', fails: [...DECIDES, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'skipCommand', summary: 'Do without the command that a skill proposes', description: 'Whatever it is when the request comes, unless the request says which one.', params: SkillSessionId, body: SkipBody, response: skillTurn(SkillTurnData) }
  }, (request, reply) => {
    const { params: { id }, body } = request
    const { approvalId, digest } = body ?? {}
    const shown = approvalId === undefined && digest === undefined ? undefined : { approvalId, digest }
    const refuse = (visitor: RequestContext): Promise<TurnResult> => sessions.refuse(skills, visitor, id, { action: SKIP }, shown)
    return answer(request, reply, visitor => shown === undefined ? whileWaiting(visitor, id, CONFLICTS.result, refuse(visitor)) : refuse(visitor), describeTurn)
  })

  app.post('/api/skills/:id/approve', {
    config: { role: 'approve', fails: [...DECIDES, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'approveCommand', summary: 'Let the service run the command that a skill proposes', description: 'The one that was shown with `approvalId` or `digest`, of which the request has to have one; or another one in its place, for which the operator\'s rules hold too. A request that is sent again counts once; when something else waits by now, it is 409 `APPROVAL_OUTDATED`. Whoever owns the skill gets what came of it; other approvers get what waits then and what the command has printed, and nothing that the model has read or said.', params: SkillSessionId, body: ApproveBody, response: skillTurn(SkillApprovedData) }
  }, (request, reply) => {
    const { params: { id }, body: { approvalId, digest, command } } = request
    return answer(request, reply, visitor => sessions.approve(skills, visitor, id, { approvalId, digest, command }), describeTurn)
  })

  app.get('/api/skills/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Skills'], operationId: 'getSkillSession', summary: 'Get how far a skill is', params: SkillSessionId, response: skillReply(SkillData) }
  }, async ({ caller, params }) => successWith(describeSkill(await sessions.get(skills, caller, params.id))))

  app.get('/api/skills/:id/output', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Skills'], operationId: 'getSkillOutput', summary: 'Get what the last command of a skill printed', params: SkillSessionId, response: skillReply(SkillOutputData) }
  }, async ({ caller, params }) => successWith(describeOutput(await sessions.get(skills, caller, params.id))))

  app.delete('/api/skills/:id', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Skills'], operationId: 'cancelSkill', summary: 'End a skill', params: SkillSessionId, response: skillReply(Cancelled) }
  }, async ({ caller, params }) => {
    await sessions.cancel(skills, caller, params.id)
    return successWith({ message: 'Skill session cancelled' })
  })
}

const SKIP = { name: 'skip', data: {} }
