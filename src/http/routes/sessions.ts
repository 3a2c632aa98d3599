import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { type Static, type TSchema, Type } from '../../schema/builder.ts'
import type { Generation } from '../../registry/generation.ts'
import { toAbortSignal } from '../../runtime/deadline.ts'
import { inTurn } from '../../runtime/event-loop.ts'
import type { Service } from '../../service.ts'
import type { TurnResult, SessionService, RequestContext } from '../../service/sessions/session-service.ts'
import type { Below, SessionBranch } from '../../service/sessions/session-tree.ts'
import type { SessionUse } from '../../service/sessions/messages.ts'
import { approvalsIn, type RecordedDecision, describeApproval } from '../../session/approvals.ts'
import type { Head, LogEntry, Start } from '../../session/model.ts'
import { childId, problemOf, type Session } from '../../session/session.ts'
import type { App } from '../app.ts'
import { DRIVES_SESSION, type MediaReply, oneOf, READS_SESSION, DECIDES } from '../schemas.ts'
import { abortWhenGone, holdStream, sendEvents, EventStream, eventStream, parseEventId } from '../send-reply.ts'
import { requestInvalid } from '../../base/errors.ts'

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

const Decision = Type.Object({
  decision: oneOf(['approve', 'reject']),
  by: Type.String({ description: 'Name of a token' }),
  at: Type.String({ format: 'date-time' }),
  command: Type.Optional(Type.String({ description: 'That runs in place of the one that was shown' })),
  reason: Type.Optional(Type.String())
})

export const viewApproval = describeApproval

function viewDecision ({ decision, by, at, command, reason }: RecordedDecision): Static<typeof Decision> {
  return { decision, by, at: new Date(at).toISOString(), command, reason }
}

const STATUSES = ['running', 'waiting_input', 'waiting_approval', 'completed', 'failed', 'cancelled', 'expired'] as const

export const SessionStatus = oneOf([...STATUSES], { description: 'What it is doing; the last four are ends' })

export const SessionSummary = Type.Object({
  id: Type.String(),
  definition: Type.String({ description: 'What it runs, as `agents/helper`' }),
  status: SessionStatus,
  owner: Type.String({ description: 'Name of the token that started it' }),
  title: Type.Optional(Type.String({ description: 'What is wanted of it, in one line: the goal, or the first words of a person; what looks like a secret is masked. Left out until somebody has said something' })),
  word: Type.Optional(Type.String({ description: 'Where it is, in the words of its engine: `await_input`, `classify`, …' })),
  problem: Type.Optional(Type.Object({ code: Type.String(), message: Type.String() }, { description: 'Why it failed, expired or was cancelled' })),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
  parent: Type.Optional(Type.String({ description: 'The session that has started it, if one has' })),
  root: Type.Optional(Type.String({ description: 'The session above all others' })),
  waitsFor: Type.Optional(oneOf(['approval', 'input'], { description: 'What a session below it waits for' })),
  childrenWaiting: Type.Optional(Type.Integer({ description: 'How many sessions below it wait for a person' })),
  reason: Type.Optional(Type.String({ description: 'Why this process can neither open it nor go on with it: it was begun by another version' }))
})

const COST = {
  costUsd: Type.Optional(Type.Number({ description: 'What the models cost whose price is known; left out where none is' })),
  unpricedCalls: Type.Optional(Type.Integer({ description: 'Calls of models whose price is not known' }))
}

const SessionReply = Type.Object({
  ...SessionSummary.properties,
  revision: Type.String({ description: 'Of the definition that it began with' }),
  seq: Type.Integer({ description: 'How many transitions it has' }),
  word: Type.String({ description: 'Where it is, in the words of its engine: `await_input`, `classify`, …' }),
  used: Type.Object({ steps: Type.Integer({ description: 'Calls of models and tools' }), tokens: Type.Integer(), ...COST }, { description: 'With what sessions below it used' }),
  approvals: Type.Array(ApprovalView, { description: 'What waits for an approval' }),
  forkOf: Type.Optional(Type.Object({ session: Type.String(), seq: Type.Integer() }))
})

const MessagesReply = Type.Object({
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

type Summarised =
  & Pick<Head, 'id' | 'definition' | 'status' | 'owner' | 'title' | 'word' | 'problem' | 'createdAt' | 'updatedAt' | 'parent' | 'root'>
  & Below & { readonly reason?: string }

export function summariseSession (head: Summarised) {
  const { id, definition, status, owner, title, word, problem, createdAt, updatedAt, parent, root, waitsFor, childrenWaiting, reason } = head
  return {
    id,
    definition,
    status,
    owner,
    title,
    word,
    problem,
    createdAt: new Date(createdAt).toISOString(),
    updatedAt: new Date(updatedAt).toISOString(),
    parent,
    root,
    waitsFor,
    childrenWaiting,
    reason
  }
}

const SessionTree = Type.Object({
  ...SessionSummary.properties,
  children: Type.Array(Type.Unknown({ description: 'Each as this, with children of its own' }))
})

function describeTree ({ head, children }: SessionBranch): Static<typeof SessionTree> {
  return { ...summariseSession(head), children: children.map(describeTree) }
}

function describeSession (session: Session) {
  const { start: { definition, owner, revision, forkOf, parent }, seq, used: { steps, tokens, usd, unpriced }, engine } = session
  return {
    ...summariseSession({ ...session, problem: problemOf(session), definition, owner, parent: parent?.session, root: parent?.root }),
    revision,
    seq,
    word: engine.view.stateName,
    used: { steps, tokens, costUsd: usd, unpricedCalls: unpriced },
    approvals: approvalsIn(session).map(viewApproval),
    forkOf
  }
}

const UsesReply = Type.Object({
  definition: Type.String({ description: 'What it runs, as `agents/helper`' }),
  revision: Type.String({ description: 'Of the definition that it began with' }),
  current: Type.Optional(Type.String({ description: 'Of the definition as it is registered now; left out for one that is not' })),
  uses: Type.Array(Type.Object({
    kind: Type.String({ description: '`llm`, `tool`, `exec`, `check`, `read`, `apply`, `commit` or `remember`' }),
    name: Type.String({ description: 'What a model was asked for; the tool, the check, the target or the workspace' }),
    calls: Type.Integer(),
    failures: Type.Integer({ description: 'Of the calls; a command with another exit code than 0, and a check that does not pass, too' }),
    tokens: Type.Integer({ description: 'Of models, in and out' }),
    ...COST
  }))
})

function describeUses ({ definition, revision }: Pick<Start, 'definition' | 'revision'>, { definitions }: Generation, uses: readonly SessionUse[]) {
  const end = definition.indexOf('/')
  const current = definitions.get(definition.slice(0, end))?.get(definition.slice(end + 1))?.hash
  return { definition, revision, current, uses: uses.map(describeUse) }
}

function describeUse ({ cost, unpriced, ...use }: SessionUse) {
  const asked = use.kind === 'llm'
  return { ...use, costUsd: asked && (cost > 0 || unpriced === 0) ? cost / 1e9 : undefined, unpricedCalls: unpriced === 0 ? undefined : unpriced }
}

export const SessionId = Type.Object({ id: Type.String({ maxLength: 512, description: 'Of a session, 32 digits in hex; there is none of any other id', examples: ['0123456789abcdef0123456789abcdef'] }) })

const SessionWithChildren = Type.Object({ ...SessionReply.properties, children: Type.Array(SessionSummary, { description: 'The sessions that it has started, the first one first' }) })

const SessionQuery = Type.Object({
  q: Type.Optional(Type.String({ maxLength: 200, description: 'Words that are all in title, id, definition or problem' })),
  status: Type.Optional(oneOf([...STATUSES, 'waiting', 'open', 'ended'], { description: '`waiting`: for a person, itself or below it; `open`: not ended; or one of those that a session has' })),
  kind: Type.Optional(oneOf(['agents', 'skills', 'plans', 'terminals', 'releases'])),
  definition: Type.Optional(Type.String({ maxLength: 600, description: 'As `agents/helper`' })),
  owner: Type.Optional(Type.String({ maxLength: 1100, description: 'Name of a token. Others than an admin see no sessions but their own' })),
  since: Type.Optional(Type.String({ maxLength: 40, description: 'Begun then or later, as `2026-11-28T09:00:00Z`' })),
  until: Type.Optional(Type.String({ maxLength: 40, description: 'Begun before' })),
  root: Type.Optional(Type.String({ maxLength: 100, description: 'All below this session, which nobody has started but a person; without it and `parent`, sessions that others have started are left out' })),
  parent: Type.Optional(Type.String({ maxLength: 100, description: 'Those that this session has started' })),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  after: Type.Optional(Type.String({ maxLength: 200, description: '`next` of the page before' }))
})

const Page = Type.Object({ sessions: Type.Array(SessionSummary), next: Type.Optional(Type.String()) })

/** The most log entries in one audit, and the buffer it is sent through, in bytes. */
const [MAX_AUDIT, AUDIT_BUFFER] = [1000, 64 * 1024]

const Audit = Type.Unsafe<Readable>(Type.Array(Type.Object({ seq: Type.Integer(), at: Type.String({ format: 'date-time' }), by: Type.String({ description: 'The replica that wrote it' }), fact: Type.Unknown(), begun: Type.Array(Type.Unknown({ description: '`{id, kind, digest, subject}`: the subject names the tool, the command, the check, the question to the model; `session` is the one that a child began' })), held: Type.Array(Type.Unknown()), denied: Type.Array(Type.Unknown()), notices: Type.Array(Type.Unknown({ description: '`{type, data}`: the events that it made' })) })))

const Messages = Type.Object({
  after: Type.Optional(Type.String({ pattern: '^\\d{1,9}\\.\\d{1,9}$', description: '`next` of the page before, or the id of an event' })),
  limit: Type.Integer({ minimum: 1, maximum: 500, default: 100, description: 'A page ends earlier with 1 MiB of text' }),
  last: Type.Boolean({ default: false, description: 'The end of the dialogue instead of its beginning: `hasEarlier` says whether more was said before' })
})

const AuditQuery = Type.Object({
  after: Type.Integer({ minimum: 0, default: 0, description: 'Number of the transition before the first' }),
  limit: Type.Integer({ minimum: 1, maximum: MAX_AUDIT, default: MAX_AUDIT, description: 'How many transitions at most' })
})

const Follow = Type.Object({ after: Type.Optional(Type.String({ pattern: '^\\d{1,9}\\.\\d{1,9}$', description: 'Id of the last event that is known; as `Last-Event-ID`' })) })

const Input = Type.Object({
  text: Type.Optional(Type.String({ maxLength: 100_000 })),
  action: Type.Optional(Type.Object({ name: Type.String({ maxLength: 100, description: 'As `skip`, `undo`: each kind of session has its own' }), data: Type.Optional(Type.Object({}, { additionalProperties: true, description: 'Empty when it is left out' })) }))
})

export function sessionRoutes (app: App, { sessions }: Pick<Service, 'sessions'>): void {
  app.get('/api/sessions', {
    config: { role: 'run' },
    schema: { tags: ['Sessions'], operationId: 'listSessions', summary: 'List sessions, the newest first', querystring: SessionQuery, response: { 200: Page } }
  }, async ({ caller, query: { q: text, status, kind, definition, owner, since, until, root, parent, limit, after: cursor } }) => {
    const time = { since: timeIn('since', since), until: timeIn('until', until) }
    const { heads, next } = await sessions.list(caller, { text, status, kind, definition, owner, ...time, root, parent, limit, cursor })
    return { sessions: heads.map(summariseSession), next }
  })

  app.get('/api/sessions/:id', {
    config: { role: 'run', orRoles: ['write'], fails: READS_SESSION },
    schema: { tags: ['Sessions'], operationId: 'getSession', summary: 'Get a session, and those that it has started', params: SessionId, response: { 200: SessionWithChildren } }
  }, async ({ caller, params }) => {
    const session = describeSession(await sessions.get('any', caller, params.id))
    return { ...session, children: (await sessions.children(caller, params.id)).map(summariseSession) }
  })

  app.get('/api/sessions/:id/tree', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Sessions'], operationId: 'getSessionTree', summary: 'Get a session with all below it', description: 'Agents start sessions of their own: each has those that it has started as `children`.', params: SessionId, response: { 200: SessionTree } }
  }, async ({ caller, params }) => describeTree(await sessions.tree(caller, params.id)))

  app.get('/api/sessions/:id/events', {
    config: { role: 'run', fails: [...READS_SESSION, 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Sessions'], operationId: 'followSession', summary: 'Follow a session as server-sent events', description: 'What has happened, then what happens, until the session ends. The id of an event, sent as `Last-Event-ID`, goes on behind it.', params: SessionId, querystring: Follow, response: { 200: { description: 'Events', content: { 'text/event-stream': { schema: EventStream } } } } }
  }, async (request, reply) => {
    holdStream(request, reply)
    const after = parseEventId(request.query.after ?? request.headers['last-event-id'] as string | undefined)
    const followed = await sessions.follow(
      () => request.callerNow(),
      request.params.id,
      after === undefined ? 0 : after.seq - 1,
      toAbortSignal(abortWhenGone(reply))
    )
    return sendEvents(reply, eventStream(followed, { after }))
  })

  app.get('/api/sessions/:id/messages', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Sessions'], operationId: 'listMessages', summary: 'What was said in a session, of whatever kind', description: 'Users, models, tools and the service, in order, with commands and what they printed.', params: SessionId, querystring: Messages, response: { 200: MessagesReply } }
  }, async ({ caller, params, query }) => {
    if (query.last) {
      const { messages, hasEarlier } = await sessions.lastMessages(caller, params.id, query.limit)
      return { messages: [...messages], hasEarlier }
    }
    const { messages, next } = await sessions.messages(caller, params.id, parseEventId(query.after) ?? { seq: 0, n: 0 }, query.limit)
    return { messages: [...messages], next }
  })

  app.get('/api/sessions/:id/audit', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Sessions'], operationId: 'auditSession', summary: 'All that a session was told, and what it began', params: SessionId, querystring: AuditQuery, response: { 200: Audit } }
  }, async ({ caller, params, query: { after, limit } }, reply) => {
    const transitions = await sessions.audit(caller, params.id, after)
    // A stream, since an audit can be too long for memory.
    const text = Readable.from(auditText(params.id, transitions, limit), { objectMode: false, highWaterMark: AUDIT_BUFFER })
    return reply.type('application/json; charset=utf-8').send(text)
  })

  app.get('/api/sessions/:id/uses', {
    config: { role: 'run', fails: READS_SESSION },
    schema: {
      tags: ['Sessions'],
      operationId: 'listUses',
      summary: 'What a session has used',
      description: 'Its definition as it was and as it is, and how often it asked models, called tools, ran commands and checks, and changed files.',
      params: SessionId,
      response: { 200: UsesReply }
    }
  }, async ({ caller, generation, params: { id } }) => {
    const { start } = await sessions.get('any', caller, id)
    return describeUses(start, generation, await sessions.uses(caller, id))
  })

  app.post('/api/sessions/:id/input', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'APPROVAL_OUTDATED', 'COMMIT_DISABLED', 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Sessions'], operationId: 'sendInput', summary: 'Say something to a session that waits for it', description: '`Idempotency-Key` makes an input that is sent again count once. Waits up to 30 s for the session to wait again, with `Prefer: respond-async` not at all; then 202. `Accept: text/event-stream` streams the events of the turn, however long it takes.', params: SessionId, body: Input, response: { 200: turnReply(SessionReply), 202: SessionReply } }
  }, (request, reply) => {
    const { params: { id }, body: { text, action } } = request
    const input = { text, action: action && { name: action.name, data: (action.data ?? {}) as JsonObject } }
    return replyWithTurn(sessions, request, reply, {
      enter: visitor => sessions.say('any', visitor, id, input),
      describe: ({ session }) => describeSession(session)
    })
  })

  app.post('/api/sessions/:id/cancel', {
    config: { role: 'run', orRoles: ['write'], fails: DRIVES_SESSION },
    schema: { tags: ['Sessions'], operationId: 'cancelSession', summary: 'End a session', description: 'While it writes files this is `SESSION_BUSY`: they are written as a whole, and then it can be ended.', params: SessionId, response: { 200: SessionReply } }
  }, async ({ caller, params }) => describeSession(await sessions.cancel('any', caller, params.id)))

  app.post('/api/sessions/:id/redrive', {
    config: { role: 'admin', fails: [...READS_SESSION, 'SESSION_ENDED'] },
    schema: { tags: ['Sessions'], operationId: 'redriveSession', summary: 'Let any process go on with a session', description: 'It is taken from the process that performs it, and the first one that looks goes on with it, mostly within 5 s: what another had begun is begun again where that does no harm, else its end is unknown. One that waits for a person waits on.', params: SessionId, response: { 200: SessionSummary } }
  }, async ({ caller, params }) => summariseSession(await sessions.redrive(caller, params.id)))

  app.post('/api/sessions/:id/fork', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'FORK_IMPOSSIBLE', 'TOO_MANY_SESSIONS'] },
    schema: { tags: ['Sessions'], operationId: 'forkSession', summary: 'Start a session that goes on from where another one waited', params: SessionId, querystring: Type.Object({ upTo: Type.Optional(Type.Integer({ minimum: 1, description: 'The last transition that may be copied' })) }), response: { 201: SessionReply } }
  }, async ({ caller, params, query }, reply) => reply.code(201).send(describeSession(await sessions.fork(caller, params.id, query.upTo))))
}

/** @throws REQUEST_INVALID */
function timeIn (name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const time = Date.parse(text)
  if (!Number.isNaN(time)) return time
  throw requestInvalid(`querystring: ${name}: expected a time as 2026-11-28T09:00:00Z, got ${JSON.stringify(text.slice(0, 40))}`, { part: 'querystring' })
}

async function * auditText (id: string, transitions: AsyncGenerator<LogEntry>, limit: number): AsyncGenerator<string> {
  let count = 0
  yield '['
  for await (const { seq, at, by, fact, begun: effects, held, denied, notices } of transitions) {
    const begun = effects.map(each => each.kind === 'child' ? { ...each, session: childId(id, each.id) } : each)
    yield `${count === 0 ? '' : ','}${await inTurn(() => stringifyJson({ seq, at: new Date(at).toISOString(), by, fact, begun, held, denied, notices }))}`
    if (++count === limit) break
  }
  yield ']'
}

/** A request that takes both equally gets JSON. */
export function wantsEvents (accept = ''): boolean {
  const qualities = new Map(accept.toLowerCase().split(',').map(each => {
    const [type = '', ...parameters] = each.split(';').map(part => part.trim())
    const quality = parameters.find(parameter => parameter.startsWith('q='))
    return [type, quality === undefined ? 1 : Number(quality.slice(2))] as const
  }))
  return (qualities.get('text/event-stream') ?? 0) > (qualities.get('application/json') ?? 0)
}

/** Replies when the session waits or has ended, after 30 s at the latest; as events, `turn` with the same JSON comes last. */
export async function replyWithTurn (sessions: SessionService, request: FastifyRequest, reply: FastifyReply, visit: {
  readonly enter: (visitor: RequestContext) => Promise<TurnResult>
  readonly describe: (progress: TurnResult) => object
  readonly isStart?: boolean
}): Promise<FastifyReply> {
  const { enter, describe, isStart = false } = visit
  const isFollowing = wantsEvents(request.headers.accept)
  if (isFollowing) holdStream(request, reply)
  const visitor = requestContextOf(request, reply, isFollowing ? 0 : undefined)
  const progress = await enter(visitor)
  if (isStart) reply.header('location', `/api/sessions/${progress.session.id}`)
  reply.code(isStart ? 201 : progress.isOpen && !isFollowing ? 202 : 200)
  if (!isFollowing) return await reply.send(describe(progress))
  const events = sessions.events(() => request.callerNow(), progress, visitor.signal)
  return await sendEvents(reply, eventStream(events, { describeEnd: end => ({ event: 'turn', data: describe(end) }) }))
}

export function turnReply (schema: TSchema): MediaReply {
  return {
    description: 'What the turn came to; with `Accept: text/event-stream` its events, as they come',
    content: { 'application/json': { schema }, 'text/event-stream': { schema: EventStream } }
  }
}

/** With `Prefer: respond-async` (RFC 7240) the sender follows events, and does not wait. @param patience in ms */
export function requestContextOf (
  { caller, id, headers }: Pick<FastifyRequest, 'caller' | 'id' | 'headers'>, reply: FastifyReply, patience?: number
): RequestContext {
  const { 'idempotency-key': key, prefer } = headers
  const isAsync = /(?:^|,)\s*respond-async\s*(?:[,;]|$)/i.test([prefer ?? ''].flat().join(','))
  const waits = isAsync ? 0 : patience
  return { caller, requestId: id, key: typeof key === 'string' ? key : undefined, signal: toAbortSignal(abortWhenGone(reply)), patience: waits }
}

const ApprovalPage = Type.Object({ approvals: Type.Array(ApprovalView), next: Type.Optional(Type.String({ description: '`after` of the next page' })) })

const ApprovalQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 100, description: 'Sessions of one page' }),
  after: Type.Optional(Type.String({ maxLength: 1100, description: '`next` of the page before' })),
  session: Type.Optional(Type.String({ maxLength: 100, description: 'What waits in this session alone' })),
  root: Type.Optional(Type.String({ maxLength: 100, description: 'What waits in this session and in all that were started below it' }))
})

const ApprovalAnswer = Type.Object({
  decision: oneOf(['approve', 'reject']),
  digest: Type.Optional(Type.String({ maxLength: 100, description: 'Of what was shown; nothing is approved without it' })),
  reason: Type.Optional(Type.String({ maxLength: 1000 })),
  command: Type.Optional(Type.String({ minLength: 1, maxLength: 100_000, description: 'To run in place of the command that was shown; the operator\'s rules hold for it too' }))
}, { examples: [{ decision: 'reject', reason: 'not today' }] })

const OneApproval = Type.Object({ ...ApprovalView.properties, decided: Type.Optional(Decision) })

const ApprovalId = Type.Object({ id: Type.String({ maxLength: 512, description: 'Of an approval: that of its session, and its effect', examples: ['0123456789abcdef0123456789abcdef:4.0'] }) })

export function approvalRoutes (app: App, sessions: SessionService): void {
  app.get('/api/approvals', {
    config: { role: 'approve' },
    schema: { tags: ['Sessions'], operationId: 'listApprovals', summary: 'What waits for a person', description: 'The oldest of each owner first, then the second of each: no owner hides what others wait for.', querystring: ApprovalQuery, response: { 200: ApprovalPage } }
  }, async ({ caller, query: { limit, after, session, root } }) => {
    const { approvals: waiting, next } = await sessions.approvals(caller, { limit, after, session, root })
    return { approvals: waiting.map(viewApproval), next }
  })

  app.get('/api/approvals/:id', {
    config: { role: 'approve', fails: [...READS_SESSION, 'APPROVAL_NOT_FOUND'] },
    schema: { tags: ['Sessions'], operationId: 'getApproval', summary: 'Get what waits for a person, or was decided', params: ApprovalId, response: { 200: OneApproval } }
  }, async ({ caller, params }) => {
    const { approval, decided } = await sessions.approval(caller, params.id)
    return { ...viewApproval(approval), decided: decided === undefined ? undefined : viewDecision(decided) }
  })

  app.post('/api/approvals/:id', {
    config: { role: 'approve', fails: [...DECIDES, 'APPROVAL_NOT_FOUND', 'APPROVER_REFUSED'] },
    schema: { tags: ['Sessions'], operationId: 'decideApproval', summary: 'Allow or refuse what waits', description: 'An answer that is sent again counts once; one that comes too late is 409 `APPROVAL_DECIDED`. A digest of anything but what waits now is 409 `APPROVAL_OUTDATED`. Both have what waits now as `details.next`.', params: ApprovalId, body: ApprovalAnswer, response: { 200: Type.Object({ ...SessionReply.properties, decided: Decision }) } }
  }, async (request, reply) => {
    const { params, body: { decision, digest, reason, command } } = request
    if (decision === 'approve' && digest === undefined) {
      throw requestInvalid('body: digest: expected that of what was shown, which is what is approved', { part: 'body' })
    }
    const { session, held, decided } = await sessions.decide(requestContextOf(request, reply), params.id, { decision, digest, reason, command })
    return { ...describeSession(session), approvals: held.map(viewApproval), decided: viewDecision(decided) }
  })
}
