import type { FastifyReply, FastifyRequest } from 'fastify'
import { commitDenied } from '../../base/errors.ts'
import type { JsonObject } from '../../base/json.ts'
import { type Static, Type } from '../../schema/builder.ts'
import { PLAN, type PlanResult } from '../../engine/plan/plan-state.ts'
import type { Page } from '../../files/change/diff.ts'
import { PLAN_CONFIRMS } from '../../registry/kinds/plan-kind.ts'
import type { Service } from '../../service.ts'
import type { Memories } from '../../service/memories.ts'
import type { TurnResult, UserInput, RequestContext } from '../../service/sessions/session-service.ts'
import { shownIn } from '../../service/sessions/plan-previews.ts'
import { traceIdOf } from '../../service/sessions/kind-table.ts'
import { approvalsIn } from '../../session/approvals.ts'
import { resultOf } from '../../session/engine.ts'
import type { Session } from '../../session/session.ts'
import type { App } from '../app.ts'
import { BEGINS_SESSION, DECIDES, DRIVES_SESSION, nullable, oneOf, READS_SESSION } from '../schemas.ts'
import { SessionId, SessionStatus, requestContextOf } from './sessions.ts'

/** A name cannot be a path. */
const WorkspaceName = Type.String({ pattern: '^[A-Za-z0-9_-]{1,64}$', description: 'Name of a workspace in the operator\'s file', examples: ['shop'] })

const Goal = Type.Object({
  goal: Type.Optional(
    Type.String({ minLength: 1, maxLength: 100_000, description: 'What is wanted; `plan:` or `apply:` in front chooses the mode. May be left out with `fix`' })
  ),
  workspace: WorkspaceName,
  mode: Type.Optional(oneOf(['plan', 'apply'])),
  profile: Type.Optional(Type.String({ minLength: 1, maxLength: 512, description: 'Id of a plan profile' })),
  fix: Type.Optional(Type.String({ minLength: 1, maxLength: 200, description: 'A check of the workspace that runs first: its failure is the goal' })),
  confirm: Type.Optional(oneOf(PLAN_CONFIRMS, { description: 'What waits for consent, if stricter than operator and profile' })),
  report: Type.Optional(Type.String({ maxLength: 500_000, description: 'Output of a failed check, a log: the files of its tracebacks are read first' }))
}, { additionalProperties: false, examples: [{ goal: 'plan: исправь тест', workspace: 'shop' }] })

const Agreement = Type.Object({
  digest: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: '`confirm.digest` of the diff that was shown; without it the one that waits' }))
}, { additionalProperties: false })

const CommitMessage = Type.Object({
  message: Type.Optional(Type.String({ maxLength: 4000, description: 'The summary of the change without it' }))
}, { additionalProperties: false })

const Paths = Type.Object({
  paths: Type.Optional(Type.Array(Type.String({ maxLength: 240 }), { minItems: 1, maxItems: 10_000, description: 'Of the change; all of them without it' })),
  dryRun: Type.Optional(Type.Boolean({ description: 'Only tells what it would come to now: `files` and `conflicts`; nothing is written' }))
})

const PreviewQuery = Type.Object({
  after: Type.Integer({ minimum: 0, maximum: 100_000, default: 0, description: 'How many paths come before the first' }),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'A page may have fewer, and says how many come after it' }),
  path: Type.Optional(Type.String({ minLength: 1, maxLength: 4096, description: 'Of the change: its text is wanted' })),
  side: Type.Optional(oneOf(['before', 'after', 'diff'], { description: 'Which text; the one that comes without it. `diff` is the whole diff of both' }))
})

const PlanMessage = Type.Object({ text: Type.String({ minLength: 1, maxLength: 100_000 }) })

const Confirmation = Type.Object({ digest: Type.String({ minLength: 1, maxLength: 100, description: '`confirm.digest` of what was shown' }) })

const Fields = Type.Object({}, { additionalProperties: true, description: 'Fields of the memory, as docs/plans.md has them' })

const patchOf = (example: object) => Type.Object({}, { additionalProperties: true, description: 'Fields to change; null forgets one', examples: [example] })

const OfWorkspace = Type.Object({ workspace: WorkspaceName })

export function memoryRoutes (app: App, memories: Memories): void {
  app.get('/api/memory/user', {
    config: { role: 'run', fails: ['MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'getUserMemory', summary: 'Get what is remembered of you', response: { 200: Fields } }
  }, async ({ caller }) => await memories.read(caller))

  app.patch('/api/memory/user', {
    config: { role: 'run', fails: ['MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'changeUserMemory', summary: 'Change what is remembered of you', body: patchOf({ preferred_style: 'brief' }), response: { 200: Fields } }
  }, async ({ caller, body }) => await memories.change(caller, body as JsonObject))

  app.get('/api/memory/project', {
    config: { role: 'run', fails: ['WORKSPACE_NOT_FOUND', 'MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'getProjectMemory', summary: 'Get what is remembered of a project', querystring: OfWorkspace, response: { 200: Fields } }
  }, async ({ caller, query }) => await memories.read(caller, query.workspace))

  app.patch('/api/memory/project', {
    config: { role: 'run', fails: ['WORKSPACE_NOT_FOUND', 'MEMORY_UNUSABLE'] },
    schema: { tags: ['Plans'], operationId: 'changeProjectMemory', summary: 'Change what is remembered of a project', querystring: OfWorkspace, body: patchOf({ default_test_command: 'npm test' }), response: { 200: Fields } }
  }, async ({ caller, query, body }) => await memories.change(caller, body as JsonObject, query.workspace))
}

const Change = Type.Object({ kind: Type.String({ description: 'CREATE_FILE, CREATE_DIR, UPDATE_FILE, EDIT_FILE, DELETE_FILE or DELETE_DIR' }), path: Type.String() })

const CONFLICT = oneOf(['changed', 'gone', 'there', 'filled'])

const PlanReply = Type.Object({
  id: Type.String({ description: 'Of the session' }),
  status: SessionStatus,
  state: Type.String({ description: 'draft, planning, planned, applying, awaiting_confirmation, applied, no_changes, rejected, failed or undone' }),
  trace_id: Type.String(),
  ok: Type.Boolean(),
  summary: Type.String(),
  actions: Type.Array(Type.Object({
    ...Change.properties,
    content: Type.Optional(Type.String()),
    edits: Type.Optional(Type.Array(Type.Object({ search: Type.String(), replace: Type.String() })))
  }), { description: 'What is changed; empty while a plan is made' }),
  error: Type.Optional(Type.String()),
  error_code: Type.Optional(Type.String({ description: 'docs/plans.md has all of them' })),
  plan_json: Type.Optional(Type.String({ description: 'The plan as the model wrote it' })),
  plan_context: Type.Optional(Type.String({ description: 'What it had read' })),
  applied: Type.Array(Change, { description: 'Changes that are on the disk' }),
  undone: Type.Array(Change, { description: 'Changes that were taken back' }),
  conflicts: Type.Optional(Type.Array(Type.Object({ path: Type.String(), reason: CONFLICT }), { description: 'What the last undo or redo has left alone, since somebody else had been there' })),
  commit: Type.Optional(Type.String({ description: 'Hash of the commit of what is applied' })),
  memory_patch: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'What the model wants remembered; `remember` agrees to it' })),
  session_memory: Type.Optional(Type.Object({
    current_task_goal: Type.String(),
    current_branch: Type.Union([Type.String(), Type.Null()]),
    recent_files: Type.Array(Type.String()),
    recent_errors: Type.Array(Type.String())
  }, { description: 'What the session remembers of itself; no model is told' })),
  confirm: Type.Optional(Type.Object({
    kind: oneOf(['diff', 'deletions', 'commit'], {
      description: '`diff`: its user agrees by `/apply` with the digest. `deletions` and `commit`: whoever has the role `approve` does by `/confirm`'
    }),
    digest: Type.String({ description: 'Of what waits to be confirmed: all of the change, and what was there when it was shown' }),
    paths: Type.Optional(Type.Array(Type.String(), { description: 'Of a diff and of a commit: what it touches; the first 500' })),
    message: Type.Optional(Type.String({ description: 'Of a commit' })),
    deletes: Type.Array(Type.String(), { description: 'Files and folders that it deletes, those below a folder too; the first 500' }),
    more: Type.Optional(Type.Integer({ description: 'How many further ones there are: `/preview` has all of them' }))
  }))
})

const DryTurnReply = Type.Object({
  dryRun: Type.Literal(true),
  files: Type.Array(Change, { description: 'What would be as it was before, or as it was made' }),
  conflicts: Type.Array(Type.Object({ path: Type.String(), reason: CONFLICT }), { description: 'What would be left alone, since somebody else has been there' })
})

const PreviewReply = Type.Object({
  files: Type.Array(Type.Object({
    kind: Change.properties.kind,
    path: Change.properties.path,
    before: nullable(Type.String(), { description: 'What was there when it was shown: the SHA-256 of a file, `folder`, or null for nothing' }),
    after: nullable(Type.String(), { description: 'What comes' }),
    bytes: Type.Integer({ description: 'Of the file that comes; of one that goes, of that' }),
    diff: Type.String({ description: 'Unified diff, with line ends as they will be written' }),
    isCut: Type.Optional(Type.Boolean({ description: 'The diff is not all of it: `?path=` with `side=diff` has it whole' })),
    isOutdated: Type.Optional(Type.Boolean({ description: 'What was there has changed since it was shown, so that there is no diff' }))
  })),
  more: Type.Integer({ description: 'How many come after these' }),
  confirm: PlanReply.properties.confirm
})

const PreviewText = Type.Object({
  path: Type.String(),
  side: oneOf(['before', 'after', 'diff']),
  sha256: nullable(Type.String(), { description: 'Of the whole file, for `diff` of the one that comes; null for none' }),
  bytes: Type.Integer(),
  text: Type.Optional(Type.String({ description: 'Its first MiB, of a diff 8 MiB; left out for what is no text' })),
  isCut: Type.Optional(Type.Boolean({ description: 'The text is not all of it' })),
  isOutdated: Type.Optional(Type.Boolean({ description: 'The file has changed since it was shown, and nobody has that text any more' }))
})

/** A caller who may only confirm the plan does not see what the model has read or the session remembers. */
function describePlan ({ session, isOwn }: Pick<TurnResult, 'session' | 'isOwn'>): Static<typeof PlanReply> {
  const { id, status, engine: { view: { stateName } } } = session
  const { ok, summary, actions, applied, undone, ...result } = resultOf(session, PLAN)
  return {
    id,
    status,
    state: stateName,
    trace_id: traceIdOf(id),
    ok,
    summary,
    actions: actions.map(({ edits, ...action }) => ({ ...action, edits: edits === undefined ? undefined : [...edits] })),
    error: result.error,
    error_code: result.error_code,
    plan_json: result.plan_json,
    plan_context: isOwn ? result.plan_context : undefined,
    applied: [...applied],
    undone: [...undone],
    conflicts: result.conflicts === undefined ? undefined : [...result.conflicts],
    commit: result.commit,
    memory_patch: result.memory_patch,
    session_memory: isOwn ? describeMemory(result.session_memory) : undefined,
    ...confirmOf(session)
  }
}

function describeMemory ({ recent_files: files, recent_errors: errors, ...memory }: PlanResult['session_memory']) {
  return { ...memory, recent_files: [...files], recent_errors: [...errors] }
}

function describePreview (session: Session, { files, more }: Page) {
  return { files: [...files], more, ...confirmOf(session) }
}

const MAX_LISTED = 500

function confirmOf (session: Session): { readonly confirm?: ConfirmReply } {
  const { held } = resultOf(session, PLAN)
  if (held !== undefined) {
    const paths = shownIn(held.change).map(({ path }) => path)
    return { confirm: { kind: 'diff', digest: held.digest, ...listed('paths', paths), deletes: [] } }
  }
  const [asked] = approvalsIn(session)
  if (asked === undefined) return {}
  const { kind, paths = [], message = '' } = asked.content
  if (kind === 'commit') return { confirm: { kind, digest: asked.digest, ...listed('paths', paths as string[]), message: String(message), deletes: [] } }
  const deleted = shownIn(asked.content['change'] as JsonObject).filter(each => each.kind.startsWith('DELETE_')).map(({ path }) => path)
  return { confirm: { kind: 'deletions', digest: asked.digest, deletes: [], ...listed('deletes', deleted) } }
}

type ConfirmReply = NonNullable<Static<typeof PlanReply>['confirm']>

function listed (name: 'paths' | 'deletes', all: readonly string[]): Pick<ConfirmReply, 'paths' | 'more'> {
  const more = Math.max(0, all.length - MAX_LISTED)
  return { [name]: all.slice(0, MAX_LISTED), more: more > 0 ? more : undefined }
}

const goesOn = { 200: PlanReply, 202: PlanReply }

const WAITS = 'Waits up to 30 s for the plan to wait again, with `Prefer: respond-async` not at all; then 202, ' +
  'and `GET /api/sessions/{id}/events` has the rest. ' +
  '`Idempotency-Key` makes a request that is sent again count once.'

const EVENTS = 'Its events are `state`, `message`, `stdout`, `files` with the stages `preview`, `applied`, `undone` and `redone`, ' +
  '`approval`, `command` of checks, `memory`, `error`, `log` and `done`.'

export function planRoutes (app: App, { sessions, sessionKinds: { plans }, planPreviews }: Pick<Service, 'sessions' | 'sessionKinds' | 'planPreviews'>): void {
  /** Answers after 30 s at the latest. @param code 202 is sent instead while the plan still runs */
  async function answer (request: FastifyRequest, reply: FastifyReply, enter: (visitor: RequestContext) => Promise<TurnResult>, code = 200) {
    const progress = await enter(requestContextOf(request, reply))
    reply.code(progress.isOpen ? 202 : code)
    return describePlan(progress)
  }

  const say = (request: FastifyRequest, reply: FastifyReply, id: string, input: UserInput) =>
    answer(request, reply, visitor => sessions.say(plans, visitor, id, input))

  app.post('/api/plans', {
    config: { role: 'run', fails: [...BEGINS_SESSION, 'WORKSPACE_NOT_FOUND'] },
    schema: { tags: ['Plans'], operationId: 'startPlan', summary: 'Have a plan made', description: `${WAITS} ${EVENTS}`, body: Goal, response: { 201: PlanReply, 202: PlanReply } }
  }, (request, reply) => {
    const { generation, body: { goal, workspace, mode, profile, fix, confirm, report } } = request
    return answer(request, reply, visitor => sessions.start(plans, visitor, generation, { goal, workspace, mode, profile, fix, confirm, report }), 201)
  })

  app.get('/api/plans/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Plans'], operationId: 'showPlan', summary: 'Get a plan', params: SessionId, response: { 200: PlanReply } }
  }, async ({ caller, params }) => describePlan({ session: await sessions.get(plans, caller, params.id), isOwn: true }))

  app.get('/api/plans/:id/preview', {
    config: { role: 'run', orRoles: ['approve'], fails: [...READS_SESSION, 'DEFINITION_NOT_FOUND', 'WORKSPACE_NOT_FOUND'] },
    schema: { tags: ['Plans'], operationId: 'previewPlan', summary: 'Get what a plan changes, as diffs', description: 'Whoever may approve sees it of others too while it waits to be confirmed. With `path`, one side of one file, or its whole diff.', params: SessionId, querystring: PreviewQuery, response: { 200: Type.Union([PreviewReply, PreviewText]) } }
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
      const { files, conflicts } = await planPreviews.turn(await sessions.getUsable(plans, caller, id), name, paths)
      return { dryRun: true as const, files: [...files], conflicts: [...conflicts] }
    })
  }

  app.post('/api/plans/:id/reject', {
    config: { role: 'run', fails: DECIDES },
    schema: { tags: ['Plans'], operationId: 'rejectPlan', summary: 'Give a plan up', description: `What waits to be confirmed is not done. ${WAITS}`, params: SessionId, response: goesOn }
  }, (request, reply) => answer(request, reply, visitor => sessions.refuse(plans, visitor, request.params.id, { action: { name: 'reject', data: {} } })))

  app.post('/api/plans/:id/confirm', {
    config: { role: 'approve', fails: DECIDES },
    schema: { tags: ['Plans'], operationId: 'confirmPlan', summary: 'Confirm the deletions or the commit of a plan', description: `Whoever may approve confirms plans of others too, and is not shown what the model has read. Where anything is not as it was shown, nothing is written: the reply has \`ERR_BASE_CHANGED\` with the paths, and waits with the new state and another digest. ${WAITS}`, params: SessionId, body: Confirmation, response: goesOn }
  // If the plan has changed since the person saw it, the request confirms nothing, and the plan waits again.
  }, (request, reply) => {
    const { params: { id }, body: { digest } } = request
    return answer(request, reply, visitor => sessions.approve(plans, visitor, id, { digest, isStrict: true }))
  })
}
