import { noticeNotFound } from '../../base/errors.ts'
import { Type } from '../../schema/builder.ts'
import type { Notices } from '../../service/notices/notices.ts'
import type { App } from '../app.ts'

const Query = Type.Object({
  receiver: Type.Optional(Type.String({ maxLength: 64, description: 'Its name in OPERATOR_FILE; left out: all' })),
  limit: Type.Integer({ minimum: 1, maximum: 200, default: 50, description: 'Of things that notices are about' }),
  after: Type.Optional(Type.String({ maxLength: 200, description: '`next` of the page before' }))
})

const Notice = Type.Object({
  id: Type.String({ description: 'Stable; as in the header webhook-id' }),
  receiver: Type.String(),
  type: Type.String({ examples: ['approval.waiting'] }),
  words: Type.String(),
  link: Type.String({ description: 'To a page of the console' }),
  at: Type.String({ format: 'date-time' }),
  state: Type.String({ description: 'announced: not known yet whether it has come true; waiting; dead: given up after a day, or since the receiver said 410' }),
  tries: Type.Integer(),
  next: Type.Optional(Type.String({ format: 'date-time', description: 'When it is tried next' })),
  problem: Type.Optional(Type.String({ description: 'Why it was not taken' }))
})

const Page = Type.Object({ notices: Type.Array(Notice), next: Type.Optional(Type.String()) })

const TestReply = Type.Object({
  id: Type.String(),
  status: Type.Optional(Type.Integer({ description: 'Left out where nobody has answered' })),
  problem: Type.Optional(Type.String({ description: 'Why it was not taken; left out where it was' })),
  quote: Type.Optional(Type.String({ description: 'What the receiver has said' })),
  milliseconds: Type.Integer()
})

export function noticeRoutes (app: App, notices: Notices | undefined): void {
  app.get('/api/notices', {
    config: { role: 'admin', fails: ['SESSIONS_UNAVAILABLE'] },
    schema: { tags: ['Status'], operationId: 'listNotices', summary: 'Notices that wait for a receiver, or are dead', description: 'A page may have fewer than `limit`, even none, and a `next`. What was sent is not listed.', querystring: Query, response: { 200: Page } }
  }, async ({ query: { receiver, limit, after } }) => {
    const { notices: found, next } = await notices?.list(receiver, limit, after) ?? { notices: [], next: undefined }
    return {
      notices: found.map(({ id, receiver: name, type, words, link, at, phase: state, tries, due, problem }) => ({
        id,
        receiver: name,
        type,
        words,
        link,
        at: new Date(at).toISOString(),
        state,
        tries,
        next: state === 'waiting' ? new Date(due).toISOString() : undefined,
        problem
      })),
      next
    }
  })

  app.post('/api/notices/:id/resend', {
    config: { role: 'admin', fails: ['NOTICE_NOT_FOUND', 'SESSIONS_UNAVAILABLE'] },
    schema: { tags: ['Status'], operationId: 'resendNotice', summary: 'Send a notice again that is dead or waits', params: Type.Object({ id: Type.String({ maxLength: 64 }) }), response: { 202: Type.Object({ id: Type.String() }) } }
  }, async ({ params: { id } }, reply) => {
    if (notices === undefined) throw noticeNotFound(id)
    await notices.resend(id)
    return reply.code(202).send({ id })
  })

  app.post('/api/notices/receivers/:name/test', {
    config: { role: 'admin', fails: ['NOTICE_NOT_FOUND'] },
    schema: { tags: ['Status'], operationId: 'testNotices', summary: 'Send a test to a receiver of notices', description: 'Once, and not kept.', params: Type.Object({ name: Type.String({ maxLength: 64 }) }), response: { 200: TestReply } }
  }, async ({ params: { name } }) => {
    if (notices === undefined) throw noticeNotFound(name, [])
    return await notices.test(name)
  })
}
