import { Readable } from 'node:stream'
import { type JsonObject, stringifyJson } from '../../base/json.ts'
import { Type } from '../../base/schema-builder.ts'
import { type Transition } from '../../session/model.ts'
import { type Service } from '../../service.ts'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { inTurn } from '../../runtime/fairness.ts'
import { type App } from '../base/app-types.ts'
import { DRIVES_SESSION, READS_SESSION } from '../base/route-errors.ts'
import { abortWhenGone } from '../base/client-gone.ts'
import { holdStream, sendEvents } from '../base/send-events.ts'
import { EventStream, eventStream, parseEventId } from '../sessions/event-stream.ts'
import {
  describeSession, describeTree, MessagesReply, SessionReply, SessionStatus, SessionSummary, SessionTree, summariseSession
} from '../sessions/session-view.ts'
import { describeUses, UsesReply } from '../sessions/uses-view.ts'
import { answerVisit, turnReply } from '../sessions/visit-reply.ts'

export const SessionId = Type.Object({ id: Type.String({ maxLength: 512, description: 'Of a session, 32 digits in hex; there is none of any other id', examples: ['0123456789abcdef0123456789abcdef'] }) })

const SessionWithChildren = Type.Object({ ...SessionReply.properties, children: Type.Array(SessionSummary, { description: 'The sessions that it has started, the first one first' }) })

const SessionQuery = Type.Object({
  status: Type.Optional(SessionStatus),
  definition: Type.Optional(Type.String({ maxLength: 600, description: 'As `agents/helper`' })),
  root: Type.Optional(Type.String({ maxLength: 100, description: 'All below this session, which nobody has started but a person; without it and `parent`, sessions that others have started are left out' })),
  parent: Type.Optional(Type.String({ maxLength: 100, description: 'Those that this session has started' })),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  after: Type.Optional(Type.String({ maxLength: 200, description: '`next` of the page before' }))
})

const Page = Type.Object({ sessions: Type.Array(SessionSummary), next: Type.Optional(Type.String()) })

/**
 * The most transitions (recorded steps of a session) that one audit lists, and the size of the buffer through which an audit is sent, in bytes.
 */
const [MAX_AUDIT, AUDIT_BUFFER] = [1000, 64 * 1024]

/** The schema of the audit of a session: a list of its transitions (recorded steps), whose JSON is sent as a stream. */
const Audit = Type.Unsafe<Readable>(Type.Array(Type.Object({ seq: Type.Integer(), at: Type.String({ format: 'date-time' }), by: Type.String({ description: 'The replica that wrote it' }), fact: Type.Unknown(), begun: Type.Array(Type.Unknown({ description: '`{id, kind, digest, subject}`: the subject names the tool, the command, the check, the question to the model' })), held: Type.Array(Type.Unknown()), denied: Type.Array(Type.Unknown()) })))

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

/** The routes for sessions of every kind: dialogues with agents, runs of skills, plans and terminals. */
export function sessionRoutes (app: App, { sessions, sessionStarts, door }: Pick<Service, 'sessions' | 'sessionStarts' | 'door'>): void {
  app.get('/api/sessions', {
    config: { role: 'run' },
    schema: { tags: ['Sessions'], operationId: 'listSessions', summary: 'List sessions, the newest first', querystring: SessionQuery, response: { 200: Page } }
  }, async ({ caller, query: { status, definition, root, parent, limit, after } }) => {
    const only = {
      ...(status === undefined ? {} : { statuses: [status] }),
      ...(definition === undefined ? {} : { definition }),
      ...(root === undefined ? {} : { root }),
      ...(parent === undefined ? {} : { parent })
    }
    const { heads, next } = await sessions.list(caller, { limit, ...only, ...(after === undefined ? {} : { cursor: after }) })
    return { sessions: heads.map(summariseSession), ...(next === undefined ? {} : { next }) }
  })

  app.get('/api/sessions/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Sessions'], operationId: 'getSession', summary: 'Get a session, and those that it has started', params: SessionId, response: { 200: SessionWithChildren } }
  }, async ({ caller, params }) => {
    const session = describeSession(await door.get('any', caller, params.id))
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
    return { messages: [...messages], ...(next === undefined ? {} : { next }) }
  })

  app.get('/api/sessions/:id/audit', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Sessions'], operationId: 'auditSession', summary: 'All that a session was told, and what it began', params: SessionId, querystring: AuditQuery, response: { 200: Audit } }
  }, async ({ caller, params, query: { after, limit } }, reply) => {
    const transitions = await sessions.audit(caller, params.id, after)
    // The audit is sent as a stream, since it can be too long to be held in memory as a whole.
    return reply.type('application/json; charset=utf-8').send(Readable.from(auditText(transitions, limit), { objectMode: false, highWaterMark: AUDIT_BUFFER }))
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
    const { start } = await door.get('any', caller, id)
    return describeUses(start, generation, await sessions.uses(caller, id))
  })

  app.post('/api/sessions/:id/input', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'APPROVAL_OUTDATED', 'COMMIT_DISABLED', 'TOO_MANY_STREAMS'] },
    schema: { tags: ['Sessions'], operationId: 'sendInput', summary: 'Say something to a session that waits for it', description: '`Idempotency-Key` makes an input that is sent again count once. Waits up to 30 s for the session to wait again, with `Prefer: respond-async` not at all; then 202. `Accept: text/event-stream` streams the events of the turn, however long it takes.', params: SessionId, body: Input, response: { 200: turnReply(SessionReply), 202: SessionReply } }
  }, (request, reply) => {
    const { params: { id }, body: { text, action } } = request
    const input = { text, action: action && { name: action.name, data: (action.data ?? {}) as JsonObject } }
    return answerVisit(door, request, reply, { enter: visitor => door.say('any', visitor, id, input), describe: ({ session }) => describeSession(session) })
  })

  app.post('/api/sessions/:id/cancel', {
    config: { role: 'run', fails: DRIVES_SESSION },
    schema: { tags: ['Sessions'], operationId: 'cancelSession', summary: 'End a session', description: 'While it writes files this is `SESSION_BUSY`: they are written as a whole, and then it can be ended.', params: SessionId, response: { 200: SessionReply } }
  }, async ({ caller, params }) => describeSession(await door.cancel('any', caller, params.id)))

  app.post('/api/sessions/:id/fork', {
    config: { role: 'run', fails: [...DRIVES_SESSION, 'FORK_IMPOSSIBLE', 'TOO_MANY_SESSIONS'] },
    schema: { tags: ['Sessions'], operationId: 'forkSession', summary: 'Start a session that goes on from where another one waited', params: SessionId, querystring: Type.Object({ upTo: Type.Optional(Type.Integer({ minimum: 1, description: 'The last transition that may be copied' })) }), response: { 201: SessionReply } }
  }, async ({ caller, params, query }, reply) => reply.code(201).send(describeSession(await sessionStarts.fork(caller, params.id, query.upTo))))
}

/** Gives the JSON of a session's audit in pieces: one piece for each transition (entry of the session's log). */
async function * auditText (transitions: AsyncGenerator<Transition>, limit: number): AsyncGenerator<string> {
  let count = 0
  yield '['
  for await (const { seq, at, by, fact, begun, held, denied } of transitions) {
    yield `${count === 0 ? '' : ','}${await inTurn(() => stringifyJson({ seq, at: new Date(at).toISOString(), by, fact, begun, held, denied }))}`
    if (++count === limit) break
  }
  yield ']'
}
