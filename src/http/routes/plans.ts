import { type FastifyReply, type FastifyRequest } from 'fastify'
import { commitDenied } from '../../base/errors.ts'
import { Type } from '../../base/schema-builder.ts'
import { type Service } from '../../service.ts'
import { type Progress, type UserInput, type Visitor } from '../../service/sessions/door.ts'
import { type App } from '../base/app-types.ts'
import { BEGINS_SESSION, DECIDES, DRIVES_SESSION, READS_SESSION } from '../base/route-errors.ts'
import { describePlan, describePreview, DryTurnReply, PlanReply, PreviewReply, PreviewText } from '../sessions/plan-view.ts'
import { Agreement, CommitMessage, Confirmation, Goal, Paths, PlanMessage, PreviewQuery } from '../sessions/plan-bodies.ts'
import { visitorOf } from '../sessions/visitor.ts'
import { SessionId } from './sessions.ts'

/** The schemas of the replies of routes that continue a plan: 202 while the plan still runs. */
const goesOn = { 200: PlanReply, 202: PlanReply }

const WAITS = 'Waits up to 30 s for the plan to wait again, with `Prefer: respond-async` not at all; then 202, ' +
  'and `GET /api/sessions/{id}/events` has the rest. ' +
  '`Idempotency-Key` makes a request that is sent again count once.'

/** The events of a plan, for the description of the API; docs/plans.md has the fields of each. */
const EVENTS = 'Its events are `state`, `message`, `stdout`, `files` with the stages `preview`, `applied`, `undone` and `redone`, ' +
  '`approval`, `command` of checks, `memory`, `error`, `log` and `done`.'

/** The routes of plans: a model proposes changes of files, which can be applied, undone and redone. */
export function planRoutes (app: App, { door, sessionKinds: { plans }, planPreviews }: Pick<Service, 'door' | 'sessionKinds' | 'planPreviews'>): void {
  /**
   * Answers when the plan waits for the user again or has ended, at the latest after 30 s.
   * @param code the status of the reply; 202 is sent instead while the plan still runs
   */
  async function answer (request: FastifyRequest, reply: FastifyReply, enter: (visitor: Visitor) => Promise<Progress>, code = 200) {
    const progress = await enter(visitorOf(request, reply))
    reply.code(progress.isOpen ? 202 : code)
    return describePlan(progress)
  }

  const say = (request: FastifyRequest, reply: FastifyReply, id: string, input: UserInput) =>
    answer(request, reply, visitor => door.say(plans, visitor, id, input))

  app.post('/api/plans', {
    config: { role: 'run', fails: [...BEGINS_SESSION, 'WORKSPACE_NOT_FOUND'] },
    schema: { tags: ['Plans'], operationId: 'startPlan', summary: 'Have a plan made', description: `${WAITS} ${EVENTS}`, body: Goal, response: { 201: PlanReply, 202: PlanReply } }
  }, (request, reply) => {
    const { generation, body: { goal, workspace, mode, profile, fix, confirm, report } } = request
    return answer(request, reply, visitor => door.start(plans, visitor, generation, { goal, workspace, mode, profile, fix, confirm, report }), 201)
  })

  app.get('/api/plans/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Plans'], operationId: 'showPlan', summary: 'Get a plan', params: SessionId, response: { 200: PlanReply } }
  }, async ({ caller, params }) => describePlan({ session: await door.get(plans, caller, params.id), isOwn: true }))

  app.get('/api/plans/:id/preview', {
    config: { role: 'run', orRole: 'approve', fails: [...READS_SESSION, 'DEFINITION_NOT_FOUND', 'WORKSPACE_NOT_FOUND'] },
    schema: { tags: ['Plans'], operationId: 'previewPlan', summary: 'Get what a plan changes, as diffs', description: 'Whoever may approve sees it of others too while it waits to be confirmed. With `path`, one side of one file.', params: SessionId, querystring: PreviewQuery, response: { 200: Type.Union([PreviewReply, PreviewText]) } }
  }, async ({ caller, params: { id }, query: { after, limit, path, side = 'after' } }) => {
    const plan = await planPreviews.planFor(caller, id)
    return path === undefined ? describePreview(plan, await planPreviews.page(plan, after, limit)) : await planPreviews.text(plan, path, side)
  })

  app.post('/api/plans/:id/message', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'COMMIT_DISABLED'] },
    schema: { tags: ['Plans'], operationId: 'talkToPlan', summary: 'Say something to a plan', description: `\`ok\` carries it out, other words change it. ${WAITS}`, params: SessionId, body: PlanMessage, response: goesOn }
  }, (request, reply) => say(request, reply, request.params.id, { text: request.body.text }))

  app.post('/api/plans/:id/apply', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'APPROVAL_OUTDATED'] },
    schema: {
      tags: ['Plans'],
      operationId: 'applyPlan',
      summary: 'Carry a plan out, or write the diff that waits',
      description: `With \`digest\` nothing is written but the diff that was shown with it; another one is 409 APPROVAL_OUTDATED. ${WAITS}`,
      params: SessionId,
      body: Type.Union([Agreement, Type.Null()]),
      response: goesOn
    }
  }, (request, reply) => {
    const digest = request.body?.digest
    return say(request, reply, request.params.id, { action: { name: 'apply', data: digest === undefined ? {} : { digest } } })
  })

  app.post('/api/plans/:id/retry', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: {
      tags: ['Plans'],
      operationId: 'retryPlan',
      summary: 'Ask again for what has failed',
      description: `Only behind a failure: the reply before had an \`error_code\`. ${WAITS}`,
      params: SessionId,
      response: goesOn
    }
  }, (request, reply) => say(request, reply, request.params.id, { action: { name: 'retry', data: {} } }))

  app.post('/api/plans/:id/commit', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'COMMIT_DISABLED', 'COMMIT_DENIED'] },
    schema: {
      tags: ['Plans'],
      operationId: 'commitPlan',
      summary: 'Commit what a plan has changed',
      description: `Only the paths of its last goal. Where no rule of the operator allows \`git commit\`, it waits for \`/confirm\`. ${WAITS}`,
      params: SessionId,
      body: Type.Union([CommitMessage, Type.Null()]),
      response: goesOn
    }
  }, async (request, reply) => {
    const message = request.body?.message
    const plan = await say(request, reply, request.params.id, { action: { name: 'commit', data: message === undefined ? {} : { message } } })
    if (plan.error_code === 'COMMIT_DENIED') throw commitDenied(plan.id, plan.error ?? '')
    return plan
  })

  app.post('/api/plans/:id/remember', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Plans'], operationId: 'rememberPlan', summary: 'Agree to what a plan wants remembered', description: `\`memory_patch\` of the plan is what was shown. ${WAITS}`, params: SessionId, response: goesOn }
  }, (request, reply) => say(request, reply, request.params.id, { action: { name: 'remember', data: {} } }))

  for (const [name, summary] of [['undo', 'Take a change back'], ['redo', 'Make a change again']] as const) {
    app.post(`/api/plans/:id/${name}`, {
      config: { role: 'run', fails: DRIVES_SESSION },
      schema: { tags: ['Plans'], operationId: `${name}Plan`, summary, description: `Where somebody else has changed a file meanwhile, it stays so: \`conflicts\` names it, \`ok\` is false, and without \`paths\` nothing is written. A redo that deletes waits to be confirmed. \`dryRun\` tells what it would come to, and writes nothing. ${WAITS}`, params: SessionId, body: Type.Union([Paths, Type.Null()]), response: { 200: Type.Union([PlanReply, DryTurnReply]), 202: PlanReply } }
    }, async (request, reply) => {
      const { caller, params: { id }, body } = request
      const { dryRun = false, paths } = body ?? {}
      if (!dryRun) return await say(request, reply, id, { action: { name, data: paths === undefined ? {} : { paths } } })
      const { files, conflicts } = await planPreviews.turn(await door.getUsable(plans, caller, id), name, paths)
      return { dryRun: true as const, files: [...files], conflicts: [...conflicts] }
    })
  }

  app.post('/api/plans/:id/reject', {
    config: { role: 'run', fails: DECIDES },
    schema: { tags: ['Plans'], operationId: 'rejectPlan', summary: 'Give a plan up', description: `What waits to be confirmed is not done. ${WAITS}`, params: SessionId, response: goesOn }
  }, (request, reply) => answer(request, reply, visitor => door.refuse(plans, visitor, request.params.id, { action: { name: 'reject', data: {} } })))

  app.post('/api/plans/:id/confirm', {
    config: { role: 'approve', fails: DECIDES },
    schema: { tags: ['Plans'], operationId: 'confirmPlan', summary: 'Confirm the deletions or the commit of a plan', description: `Whoever may approve confirms plans of others too, and is not shown what the model has read. Where anything is not as it was shown, nothing is written: the reply has \`ERR_BASE_CHANGED\` with the paths, and waits with the new state and another digest. ${WAITS}`, params: SessionId, body: Confirmation, response: goesOn }
  // If the plan has changed since the person saw it, the request confirms nothing: the plan waits again, so that the person sees its new state.
  }, (request, reply) => answer(request, reply, visitor => door.approve(plans, visitor, request.params.id, { digest: request.body.digest, isStrict: true })))
}
