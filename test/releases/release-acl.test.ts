import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createRedisStore } from '../../src/store/redis/redis-store.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { openReplica } from '../helpers/replica.ts'
import { storeKeys } from '../helpers/store-keys.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('A Redis user who may use the prefixes of before', () => {
  it('is served and publishes without labels, and readiness says why', async t => {
    const server = await startRedisServer()
    t.after(server.stop)
    await server.client.set('shenma:templates:a', 'first')
    await server.client.set('shenma:releases:a', JSON.stringify({ next: 2, labels: { production: 1 }, versions: [], moves: [] }))
    await server.client.call('ACL', 'SETUSER', 'old', 'on', '>secret', '+@all', '&*', ...['extensions', 'templates', 'environs', 'tools'].map(kind => `~shenma:${kind}:*`))
    const url = new URL(server.url)
    url.username = 'old'
    url.password = 'secret'
    const store = createRedisStore({ keys: storeKeys(), url: url.href })
    t.after(() => store.close())
    await waitFor('the store to be connected', () => store.status().connected)
    const { render, put, call, close } = await openReplica(store)
    t.after(close)
    assert.equal(await render('a'), 'first')
    assert.equal((await put('a', 'second')).status, 200)
    assert.equal(await render('a'), 'second')
    const { status, body } = await call('GET', '/readyz')
    const { kinds } = body as { kinds: { releases: { problem?: string } } }
    assert.equal(status, 200)
    assert.match(kinds.releases.problem ?? '', /labels are not served: the store lets this process read nothing below shenma:releases: and shenma:versions:/)
    assert.equal((await call('PUT', '/api/prompts/a/labels/production', { version: 'latest' })).status, 405)
    assert.equal((await call('DELETE', '/api/prompts/a')).status, 204)
  })
})
