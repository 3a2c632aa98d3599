import { type FastifyReply, type FastifyRequest } from 'fastify'
import { requestInvalid, ServiceError, skillFailed, skillNotWaiting } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { SKILL } from '../../engine/skill/skill-state.ts'
import { type Service } from '../../service.ts'
import { type SkillRequest } from '../../service/sessions/kinds/skill.ts'
import { type Progress, type UserInput, type Visitor } from '../../service/sessions/door.ts'
import { resultOf } from '../../session/engine.ts'
import { type App } from '../base/app-types.ts'
import { DECIDES, DRIVES_SESSION, READS_SESSION, RUNS_SKILL, STARTS_SKILL } from '../base/route-errors.ts'
import { visitorOf } from '../sessions/visitor.ts'
import { ApproveBody, MessageBody, ResultBody, SkillSessionId, SkipBody, StartBody } from '../sessions/skill-bodies.ts'
import { skillReply, skillTurn, successWith } from '../base/skill-envelope.ts'
import { describeOutput, describeSkill, describeStart, describeTurn, stateOf, textOf } from '../sessions/skill-view.ts'
import { SkillApprovedData, SkillData, SkillOutputData, SkillStartData, SkillTurnData } from '../sessions/skill-view.ts'

const Cancelled = Type.Object({ message: Type.String() })

type Enter = (visitor: Visitor) => Promise<Progress>

/** Makes the error message for a call that does not fit what the skill waits for. @param state the state of the skill */
type NotNow = (state: string) => string

const CONFLICTS: Readonly<Record<'input' | 'result' | 'continue', NotNow>> = {
  input: () => 'Skill is not waiting for user input',
  result: () => 'Skill is not waiting for command result',
  continue: state => `Skill is in state '${state}', not 'idle'`
}

/** The meaning of status 500 below /api/skills, for the description of the API. */
const FAILS = '500 `SKILL_FAILED`: the skill has ended, since its model could not be asked, said nothing that can be read, or its budget is used up.'

/** The schemas of the replies of routes that continue a skill. */
const goesOn = skillTurn(SkillTurnData)

/** The routes that run skills. Their paths and replies are those that existing clients of skills expect, and so differ from the rest of the API. */
export function skillRoutes (app: App, { door, terminals, sessionKinds: { skills } }: Pick<Service, 'door' | 'terminals' | 'sessionKinds'>): void {
  /** Answers when the skill waits for the user again or has ended, at the latest after 30 s. @throws SKILL_FAILED */
  async function answer<Data> (request: FastifyRequest, reply: FastifyReply, enter: Enter, describe: (progress: Progress) => Data) {
    const progress = await enter(visitorOf(request, reply))
    const { session, isOpen, isOwn } = progress
    if (session.status === 'failed') throw skillFailed(session.id, (isOwn ? textOf(session) : '') || 'The service has stopped it; its events say why')
    reply.code(isOpen ? 202 : 200)
    return successWith(describe(progress))
  }

  /**
   * Waits for the end of `work`, a call that a skill accepts only in one state; for example, an answer of the user is accepted only while the
   * skill waits for one.
   * @throws SKILL_NOT_WAITING when the skill is in another state
   */
  async function whileWaiting (visitor: Visitor, id: string, notNow: NotNow, work: Promise<Progress>): Promise<Progress> {
    try {
      return await work
    } catch (error) {
      const isBusy = error instanceof ServiceError && (error.code === 'SESSION_BUSY' || error.code === 'SESSION_ENDED')
      throw isBusy ? skillNotWaiting(notNow(stateOf(await door.get(skills, visitor.caller, id)))) : error
    }
  }

  const say = (request: FastifyRequest, reply: FastifyReply, id: string, input: UserInput, notNow: NotNow) =>
    answer(request, reply, visitor => whileWaiting(visitor, id, notNow, door.say(skills, visitor, id, input)), describeTurn)

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
    return answer(request, reply, visitor => door.start(skills, visitor, generation, wanted), describeStart)
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
    const { terminal } = resultOf(await door.getUsable(skills, caller, id), SKILL)
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
    const refuse = (visitor: Visitor): Promise<Progress> => door.refuse(skills, visitor, id, { action: SKIP }, shown)
    return answer(request, reply, visitor => shown === undefined ? whileWaiting(visitor, id, CONFLICTS.result, refuse(visitor)) : refuse(visitor), describeTurn)
  })

  app.post('/api/skills/:id/approve', {
    config: { role: 'approve', fails: [...DECIDES, ...RUNS_SKILL] },
    schema: { tags: ['Skills'], operationId: 'approveCommand', summary: 'Let the service run the command that a skill proposes', description: 'The one that was shown with `approvalId` or `digest`, of which the request has to have one; or another one in its place, for which the operator\'s rules hold too. A request that is sent again counts once; when something else waits by now, it is 409 `APPROVAL_OUTDATED`. Whoever owns the skill gets what came of it; other approvers get what waits then and what the command has printed, and nothing that the model has read or said.', params: SkillSessionId, body: ApproveBody, response: skillTurn(SkillApprovedData) }
  }, (request, reply) => {
    const { params: { id }, body: { approvalId, digest, command } } = request
    return answer(request, reply, visitor => door.approve(skills, visitor, id, { approvalId, digest, command }), describeTurn)
  })

  app.get('/api/skills/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Skills'], operationId: 'getSkillSession', summary: 'Get how far a skill is', params: SkillSessionId, response: skillReply(SkillData) }
  }, async ({ caller, params }) => successWith(describeSkill(await door.get(skills, caller, params.id))))

  app.get('/api/skills/:id/output', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Skills'], operationId: 'getSkillOutput', summary: 'Get what the last command of a skill printed', params: SkillSessionId, response: skillReply(SkillOutputData) }
  }, async ({ caller, params }) => successWith(describeOutput(await door.get(skills, caller, params.id))))

  app.delete('/api/skills/:id', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Skills'], operationId: 'cancelSkill', summary: 'End a skill', params: SkillSessionId, response: skillReply(Cancelled) }
  }, async ({ caller, params }) => {
    await door.cancel(skills, caller, params.id)
    return successWith({ message: 'Skill session cancelled' })
  })
}

const SKIP = { name: 'skip', data: {} }
