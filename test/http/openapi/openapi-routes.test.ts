import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'

const started = shared(suite => startService(suite, {}))

describe('the description of the API, made when it is first asked for', () => {
  it('is made once for those who ask at the same time', async t => {
    const { app } = await startService(t, {})
    const [one, other] = await Promise.all([app.inject('/openapi.json'), app.inject('/openapi.json')])
    assert.equal(one.statusCode, 200)
    assert.equal(one.payload, other.payload)
  })

  it('has a page that runs its own scripts only', async () => {
    const { app } = await started()
    const { statusCode, headers } = await app.inject('/docs/')
    assert.equal(statusCode, 200)
    assert.match(String(headers['content-security-policy']), /script-src 'self';/)
  })

  it('sends a file of the page again only when it has changed', async () => {
    const { app } = await started()
    const { headers } = await app.inject('/docs/static/swagger-ui.css')
    const { statusCode } = await app.inject({ url: '/docs/static/swagger-ui.css', headers: { 'if-none-match': String(headers['etag']) } })
    assert.equal(statusCode, 304)
  })

  it('sends a part of a file', async () => {
    const { app } = await started()
    const { statusCode, rawPayload } = await app.inject({ url: '/docs/static/swagger-ui.css', headers: { range: 'bytes=0-99' } })
    assert.deepEqual([statusCode, rawPayload.length], [206, 100])
  })

  it('says what is not there below its page in the shape of every error', async () => {
    const { app } = await started()
    const { statusCode, body } = await app.inject('/docs/none.js')
    assert.deepEqual([statusCode, (JSON.parse(body) as { code: string }).code], [404, 'ROUTE_NOT_FOUND'])
  })
})
