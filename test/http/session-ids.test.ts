import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../helpers/service.ts'
import { shared } from '../helpers/shared.ts'

const ROUTES = [
  'GET /api/sessions/:id', 'GET /api/sessions/:id/events', 'GET /api/sessions/:id/audit', 'POST /api/sessions/:id/input', 'POST /api/sessions/:id/cancel', 'POST /api/sessions/:id/fork',
  'POST /api/agents/sessions/:id/message', 'GET /api/plans/:id', 'POST /api/plans/:id/reject', 'GET /api/skills/:id', 'POST /api/skills/:id/continue', 'POST /api/skills/:id/approve', 'DELETE /api/skills/:id', 'GET /api/traces/:id'
]

const started = shared(suite => startService(suite, {}))

describe('A session id that none can have', () => {
  for (const route of ROUTES) {
    it(`is not found at ${route}`, async () => {
      const { app } = await started()
      const [method = '', path = ''] = route.split(' ')
      const payload = /input|message/.test(path) ? { text: 'x' } : {}
      for (const id of ['nothing', 'ABCDEF0123456789ABCDEF0123456789', '..%2F..%2Fetc', '0'.repeat(32)]) {
        const reply = await app.inject({ method: method as 'GET', url: path.replace(':id', id), ...(method === 'POST' ? { payload } : {}) })
        assert.deepEqual([id, reply.statusCode, reply.json<{ code: string }>().code], [id, 404, 'SESSION_NOT_FOUND'])
      }
    })
  }
})
