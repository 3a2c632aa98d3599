import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { before, describe, it } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { buildConsole } from '../helpers/console.ts'
import { startService } from '../helpers/service.ts'

describe('The console', () => {
  before(buildConsole)

  const script = (): string => readdirSync('dist/console/assets').find(name => /^main-\w+\.js$/.test(name)) as string

  it('is where a browser at / is led', async t => {
    const { app } = await startService(t, {})
    const { statusCode, headers } = await app.inject({ url: '/', headers: { accept: 'text/html,application/xhtml+xml' } })
    assert.deepEqual([statusCode, headers.location], [302, '/console/'])
  })

  it('leaves / as it is for programs', async t => {
    const { get } = await startService(t, {})
    const { status, json } = await get('/')
    assert.deepEqual([status, json['code']], [404, 'ROUTE_NOT_FOUND'])
  })

  it('runs its own scripts and styles only, each page under a nonce of its own', async t => {
    const { app } = await startService(t, {})
    const [one, other] = [await app.inject('/console/prompts/a.b'), await app.inject('/console/')]
    const policy = String(one.headers['content-security-policy'])
    assert.doesNotMatch(policy, /unsafe/)
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self' 'nonce-/)
    assert.notEqual(policy, other.headers['content-security-policy'])
    assert.equal(one.headers['cache-control'], 'no-store')
    assert.ok(one.body.includes(/nonce-([^']+)/.exec(policy)?.[1] as string))
  })

  it('has assets that are kept for ever, and are compressed already', async t => {
    const { app } = await startService(t, {})
    const reply = await app.inject({ url: `/console/assets/${script()}`, headers: { 'accept-encoding': 'gzip' } })
    assert.deepEqual([reply.statusCode, reply.headers['content-encoding'], reply.headers['cache-control']], [200, 'gzip', 'public, max-age=31536000, immutable'])
    assert.deepEqual(gunzipSync(reply.rawPayload), readFileSync(`dist/console/assets/${script()}`))
  })

  it('says of an asset that is not there what it says of any path', async t => {
    const { get } = await startService(t, {})
    assert.equal((await get('/console/assets/nothing.js')).json['code'], 'ROUTE_NOT_FOUND')
  })

  it('is not there with CONSOLE=off', async t => {
    const { get, app } = await startService(t, {}, { CONSOLE: 'off' })
    assert.deepEqual([(await get('/console/')).status, (await app.inject({ url: '/', headers: { accept: 'text/html' } })).statusCode], [404, 404])
  })
})
