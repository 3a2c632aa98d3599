import { type FastifyReply, type FastifyRequest } from 'fastify'
import { type Caller } from '../../access/caller.ts'
import { approvalOutdated, sessionNotFound } from '../../base/errors.ts'
import { type JsonObject } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { type StartPlan } from '../../service/sessions/start-plan.ts'
import { type PlanPreviews } from '../../service/sessions/plan-previews.ts'
import { type Sessions, type UserInput } from '../../service/sessions/sessions.ts'
import { isPlan } from '../../service/sessions/trace/trace.ts'
import { followTurn } from '../../service/sessions/turn.ts'
import { approvalsIn, describeApproval, effectShownWith } from '../../session/approval.ts'
import { type Session } from '../../session/session.ts'
import { type App } from '../app-types.ts'
import { BEGINS_SESSION, DECIDES, DRIVES_SESSION, READS_SESSION } from '../route-errors.ts'
import { abortWhenGone } from '../client-gone.ts'
import { oneOf } from '../openapi/schemas.ts'
import { describePlan, describePreview, PlanReply, PreviewReply, PreviewText, withoutContext } from '../plan-view.ts'
import { SessionId } from './sessions.ts'

/** A workspace as the operator's file names it: a name can be no path. */
export const WorkspaceName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Name of a workspace in the operator\'s file', examples: ['shop'] })

const Goal = Type.Object({
  goal: Type.String({ minLength: 1, maxLength: 100_000, description: 'What is wanted; `plan:` or `apply:` in front chooses the mode' }),
  workspace: WorkspaceName,
  mode: Type.Optional(oneOf(['plan', 'apply'])),
  profile: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Id of a profile' })),
  report: Type.Optional(Type.String({ maxLength: 500_000, description: 'Output of a failed check, a log: the files of its tracebacks are read first' }))
}, { additionalProperties: false, examples: [{ goal: 'plan: исправь тест', workspace: 'shop' }] })

const Paths = Type.Object({ paths: Type.Optional(Type.Array(Type.String({ maxLength: 240 }), { minItems: 1, maxItems: 10_000, description: 'Of the change; all of them without it' })) })

const PreviewQuery = Type.Object({
  after: Type.Integer({ minimum: 0, maximum: 100_000, default: 0, description: 'How many paths come before the first' }),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'A page may have fewer, and says how many come after it' }),
  path: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: 'Of the change: its text is wanted' })),
  side: Type.Optional(oneOf(['before', 'after'], { description: 'Which text; the one that comes without it' }))
})

/** The replies of what goes on with a plan. */
const goesOn = { 200: PlanReply, 202: PlanReply }

const WAITS = 'Waits up to 30 s for the plan to wait again; then 202, and `GET /api/sessions/{id}/events` has the rest. `Idempotency-Key` makes a request that is sent again count once.'

/** What a plan tells its followers; docs/plans.md has what is in each. */
const EVENTS = 'Its events are `state`, `message`, `stdout`, `files` with the stages `preview`, `applied`, `undone` and `redone`, `approval`, `command` of checks, `memory`, `error`, `log` and `done`.'

export interface PlanRouteOptions {
  readonly sessions: Sessions
  readonly startPlan: StartPlan
  readonly planPreviews: PlanPreviews
}

type PlanRequest = Pick<FastifyRequest<{ Params: { id: string } }>, 'caller' | 'params' | 'headers'>

/** How a request to go on with a plan is answered. */
interface PlanAnswer { readonly code: 200 | 202, readonly plan: ReturnType<typeof describePlan> }

/** Plans: a model proposes changes of files, and they are made, undone and made again. */
export function planRoutes (app: App, { sessions, startPlan, planPreviews }: PlanRouteOptions): void {
  async function follow (caller: Caller, id: string, after: number, reply: FastifyReply): Promise<PlanAnswer> {
    const { session, isOpen } = await followTurn(sessions, caller, id, after, toAbortSignal(abortWhenGone(reply)))
    return { code: isOpen ? 202 : 200, plan: describePlan(session) }
  }

  async function goOn ({ caller, params: { id }, headers }: PlanRequest, input: UserInput, reply: FastifyReply): Promise<PlanAnswer> {
    await ownPlan(sessions, caller, id)
    const { seq } = await sessions.input(caller, id, { ...input, key: headers['idempotency-key'] as string | undefined })
    return await follow(caller, id, seq - 1, reply)
  }

  /** What waits to be confirmed is refused by its owner; whoever may only run may do that much. */
  async function reject (request: PlanRequest, session: Session, reply: FastifyReply): Promise<PlanAnswer> {
    const [held] = approvalsIn(session)
    if (held === undefined) return await goOn(request, { action: { name: 'reject', data: {} } }, reply)
    await sessions.decide(request.caller, session.id, held.effect, { decision: 'reject' })
    return await follow(request.caller, session.id, session.seq, reply)
  }

  app.post('/api/plans', {
    config: { role: 'run', fails: [...BEGINS_SESSION, 'WORKSPACE_NOT_FOUND'] },
    schema: { tags: ['Plans'], operationId: 'startPlan', summary: 'Have a plan made', description: `${WAITS} ${EVENTS}`, body: Goal, response: { 201: PlanReply, 202: PlanReply } }
  }, async (request, reply) => {
    const { caller, generation, body, headers } = request
    const { id } = await sessions.start({ caller, start: startPlan(caller, generation, body), key: headers['idempotency-key'] as string | undefined })
    const { code, plan } = await follow(caller, id, 0, reply)
    return reply.code(code === 200 ? 201 : code).send(plan)
  })

  app.get('/api/plans/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Plans'], operationId: 'showPlan', summary: 'Get a plan', params: SessionId, response: { 200: PlanReply } }
  }, async ({ caller, params }) => describePlan(await ownPlan(sessions, caller, params.id)))

  app.get('/api/plans/:id/preview', {
    config: { role: 'run', orRole: 'approve', fails: READS_SESSION },
    schema: { tags: ['Plans'], operationId: 'previewPlan', summary: 'Get what a plan changes, as diffs', description: 'Whoever may approve sees it of others too while it waits to be confirmed. With `path`, one side of one file.', params: SessionId, querystring: PreviewQuery, response: { 200: Type.Union([PreviewReply, PreviewText]) } }
  }, async ({ caller, params: { id }, query: { after, limit, path, side = 'after' } }) => {
    const plan = await planPreviews.planFor(caller, id)
    return path === undefined ? describePreview(plan, await planPreviews.page(plan, after, limit)) : await planPreviews.text(plan, path, side as 'before' | 'after')
  })

  app.post('/api/plans/:id/message', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Plans'], operationId: 'talkToPlan', summary: 'Say something to a plan', description: `\`ok\` carries it out, other words change it. ${WAITS}`, params: SessionId, body: Type.Object({ text: Type.String({ minLength: 1, maxLength: 100_000 }) }), response: goesOn }
  }, async (request, reply) => {
    const { code, plan } = await goOn(request, { text: request.body.text }, reply)
    return reply.code(code).send(plan)
  })

  app.post('/api/plans/:id/apply', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Plans'], operationId: 'applyPlan', summary: 'Carry a plan out', description: WAITS, params: SessionId, response: goesOn }
  }, async (request, reply) => {
    const { code, plan } = await goOn(request, { action: { name: 'apply', data: {} } }, reply)
    return reply.code(code).send(plan)
  })

  app.post('/api/plans/:id/remember', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Plans'], operationId: 'rememberPlan', summary: 'Agree to what a plan wants remembered', description: `\`memory_patch\` of the plan is what was shown. ${WAITS}`, params: SessionId, response: goesOn }
  }, async (request, reply) => {
    const { code, plan } = await goOn(request, { action: { name: 'remember', data: {} } }, reply)
    return reply.code(code).send(plan)
  })

  for (const [name, summary] of [['undo', 'Take a change back'], ['redo', 'Make a change again']] as const) {
    app.post(`/api/plans/:id/${name}`, {
      config: { role: 'run', fails: DRIVES_SESSION },
      schema: { tags: ['Plans'], operationId: `${name}Plan`, summary, description: `Where somebody else has changed a file meanwhile, it stays so: \`conflicts\` names it, \`ok\` is false, and without \`paths\` nothing is written. A redo that deletes waits to be confirmed. ${WAITS}`, params: SessionId, body: Type.Union([Paths, Type.Null()]), response: goesOn }
    }, async (request, reply) => {
      const { code, plan } = await goOn(request, { action: { name, data: { ...request.body } as JsonObject } }, reply)
      return reply.code(code).send(plan)
    })
  }

  app.post('/api/plans/:id/reject', {
    config: { role: 'run', fails: DECIDES },
    schema: { tags: ['Plans'], operationId: 'rejectPlan', summary: 'Give a plan up', description: `What waits to be confirmed is not done. ${WAITS}`, params: SessionId, response: goesOn }
  }, async (request, reply) => {
    const { caller, params: { id } } = request
    const { code, plan } = await reject(request, await ownPlan(sessions, caller, id), reply)
    return reply.code(code).send(plan)
  })

  app.post('/api/plans/:id/confirm', {
    config: { role: 'approve', fails: DECIDES },
    schema: { tags: ['Plans'], operationId: 'confirmPlan', summary: 'Confirm the deletions of a plan', description: `Whoever may approve confirms plans of others too, and is not shown what the model has read. Where anything is not as it was shown, nothing is written: the reply has \`ERR_BASE_CHANGED\` with the paths, and waits with the new state and another digest. ${WAITS}`, params: SessionId, body: Type.Object({ digest: Type.String({ minLength: 1, maxLength: 100, description: '`confirm.digest` of what was shown' }) }), response: goesOn }
  }, async ({ caller, params: { id }, body: { digest } }, reply) => {
    const { session, held: [waiting] } = await sessions.approvalsIn(caller, id)
    if (!isPlan(session.start)) throw sessionNotFound(id)
    // One that was confirmed, and is asked for again with another state, needs another look.
    if (waiting !== undefined && effectShownWith(session, digest) !== waiting.effect && waiting.digest !== digest) throw approvalOutdated(id, describeApproval(waiting))
    const { session: { seq, start: { owner } } } = await sessions.answer(caller, id, { decision: 'approve', digest })
    const { code, plan } = await follow({ ...caller, name: owner }, id, seq - 1, reply)
    // Who has confirmed it sees what comes of it, and not what the model has read.
    return reply.code(code).send(owner === caller.name ? plan : withoutContext(plan))
  })
}

/** A plan of the caller's own. @throws SESSION_NOT_FOUND, also for a session that is no plan */
async function ownPlan (sessions: Sessions, caller: Caller, id: string): Promise<Session> {
  const session = await sessions.get(caller, id)
  if (!isPlan(session.start)) throw sessionNotFound(id)
  return session
}
