import { Type } from '../../schema/builder.ts'
import { type Traces } from '../../service/sessions/traces.ts'
import { type App } from '../app.ts'
import { READS_SESSION } from '../schemas.ts'
import { SessionSummary, summariseSession } from './sessions.ts'

const TraceId = Type.Object({ id: Type.String({ maxLength: 512, description: 'Of a trace: the id of its session, with or without dashes', examples: ['01234567-89ab-cdef-0123-456789abcdef'] }) })

const Query = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50 }),
  after: Type.Optional(Type.String({ maxLength: 200, description: '`next` of the page before' }))
})

const Page = Type.Object({
  traces: Type.Array(Type.Object({ trace_id: Type.String(), session: SessionSummary })),
  next: Type.Optional(Type.String())
})

const Values = Type.Object({}, { additionalProperties: true })

const TraceReply = Type.Object({
  trace_id: Type.String(),
  session: Type.String(),
  workspace: Type.String(),
  started_at: Type.String({ format: 'date-time' }),
  updated_at: Type.String({ format: 'date-time' }),
  config_snapshot: Values,
  context_stats: Type.Unknown(),
  cache_stats: Type.Unknown(),
  events: Type.Array(Values),
  result: Values,
  raw_content: Type.Optional(Type.Array(Type.String(), { description: 'What the model answered, its secrets masked; with `PAPAYU_TRACE_RAW=1` only' }))
})

const GoldenReply = Type.Object({
  protocol: Values,
  request: Values,
  context: Values,
  result: Values
}, { description: 'As in jsonschema/golden-trace.json' })

export function traceRoutes (app: App, traces: Traces): void {
  app.get('/api/traces', {
    config: { role: 'run' },
    schema: { tags: ['Plans'], operationId: 'listTraces', summary: 'List traces of plans, the newest first', description: 'A page may have fewer than `limit`, even none, and a `next`.', querystring: Query, response: { 200: Page } }
  }, async ({ caller, query: { limit, after } }) => {
    const { traces: found, next } = await traces.list(caller, { limit, cursor: after })
    return { traces: found.map(({ id, head }) => ({ trace_id: id, session: summariseSession(head) })), next }
  })

  app.get('/api/traces/:id', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Plans'], operationId: 'getTrace', summary: 'Get the trace of a plan', description: 'Without the words of user and model, and without what files hold; what looks like a secret is masked.', params: TraceId, response: { 200: TraceReply } }
  }, async ({ caller, params }) => ({ ...await traces.get(caller, params.id) }))

  app.post('/api/traces/:id/golden', {
    config: { role: 'run', fails: READS_SESSION },
    schema: { tags: ['Plans'], operationId: 'makeGolden', summary: 'Make a golden trace of a plan', description: 'What the model answered is in it, masked.', params: TraceId, response: { 200: GoldenReply } }
  }, async ({ caller, params }) => ({ ...await traces.golden(caller, params.id) }))
}
