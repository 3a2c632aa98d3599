import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { API } from '../../helpers/described-api.ts'
import { type Service, startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'

const registrations = { 'templates:greet': 'Hello', 'environs:team:secret': 'of the team' }
const OPEN = [['without tokens', {}], ['with AUTH=off', { AUTH: 'off', HOST: '0.0.0.0' }]] as const
const calls = Object.entries(API.paths).flatMap(([path, methods]) => Object.keys(methods).map(method => ({ method: method.toUpperCase() as 'GET', url: path.replace(/{\w+}/, 'greet') })))
const others = ['/openapi.json', '/docs/', '/docs/json', '/nothing'].map(url => ({ method: 'GET', url } as const))

const started = shared(suite => startService(suite, registrations))
const startedWithTokens = shared(suite => startService(suite, registrations, { API_TOKENS: tokenEntry('ide', 'read') }))

describe('a name that somebody else has pointed here', () => {
  for (const [where, environment] of OPEN) {
    it(`is refused on every path and for every method, ${where}`, async t => {
      const { app } = await startService(t, registrations, { ...environment, CORS_ORIGINS: 'https://console.example' })
      for (const call of [...calls, ...others, { method: 'OPTIONS', url: '/api/prompts' } as const]) {
        const reply = await app.inject({ ...call, headers: { host: 'evil.example:8080', origin: 'https://console.example', 'access-control-request-method': 'GET' } })
        const body = JSON.parse(reply.body)
        // Skills have words only.
        const code = body.success === false && body.error.includes('ALLOWED_HOSTS') ? 'HOST_NOT_ALLOWED' : body.code ?? body.error.code
        assert.deepEqual([reply.statusCode, code], [403, 'HOST_NOT_ALLOWED'], `${call.method} ${call.url}`)
      }
    })
  }

  it('is told how to be let in', async () => {
    const { get } = await started()
    const { json } = await get('/healthz', { host: 'evil.example' })
    assert.match(String(json['message']), /"evil\.example".*ALLOWED_HOSTS/)
  })

  it('does not matter where tokens are asked for', async () => {
    const { get } = await startedWithTokens()
    assert.equal((await get('/api/prompts', { host: 'prompts.example', ...bearer('ide') })).status, 200)
  })
})

describe('the host of a request without a token', () => {
  const ALLOWED = { ALLOWED_HOSTS: 'prompts.example, Shell.team.svc' }
  const cases = [
    ['127.0.0.1', 200], ['127.0.0.1:8080', 200], ['10.1.2.3:8080', 200], ['[::1]', 200], ['[::1]:8080', 200], ['[2001:db8::7]:80', 200],
    ['localhost', 200], ['LOCALHOST:8080', 200], ['localhost.:8080', 200], ['shell.localhost:8080', 200],
    ['prompts.example', 200], ['Prompts.Example:8443', 200], ['prompts.example.', 200], ['shell.team.svc', 200],
    ['evil.example', 403], ['team.svc', 403], ['a.prompts.example', 403], ['prompts.example.evil.example', 403], ['localhost.evil.example', 403],
    ['127.0.0.1.evil.example', 403], ['evillocalhost', 403], ['127.0.0.1@evil.example', 403], ['evil.example@127.0.0.1', 403], ['127.0.0.1:80:evil.example', 403],
    ['[evil.example]', 403], ['::1', 403], ['2130706433', 403], ['0x7f.1', 403], ['', 403], ['.', 403], [':8080', 403]
  ] as const
  it('is an address, localhost, or a name of ALLOWED_HOSTS, with any port', async t => {
    const service = await startService(t, registrations, ALLOWED)
    const answers = []
    for (const [host] of cases) answers.push([host, await statusOf(service, `GET /api/environs/team.secret HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)])
    assert.deepEqual(answers, cases)
  })

  it('is not asked for in HTTP/1.0, which no browser speaks', async () => {
    assert.equal(await statusOf(await started(), 'GET /healthz HTTP/1.0\r\n\r\n'), 200)
  })

  for (const name of ['prompts.example:8080', 'https://prompts.example', '*', '.example', 'a b']) {
    it(`cannot be configured as ${name}`, async t => {
      await assert.rejects(startService(t, {}, { ALLOWED_HOSTS: name }), /ALLOWED_HOSTS: expected names such as prompts\.example\.com, without a port, got/)
    })
  }
})

describe('a request that names two hosts', () => {
  const cases = [
    ['in two headers', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nHost: evil.example', 400],
    ['twice the same in two headers', 'GET /healthz HTTP/1.1\r\nhost: localhost\r\nhost: localhost', 400],
    ['in its target and in the header', 'GET http://evil.example/healthz HTTP/1.1\r\nhost: localhost', 400],
    ['in its target and in the header, the other way round', 'GET http://localhost/healthz HTTP/1.1\r\nhost: evil.example', 400],
    ['in its target, with a login', 'GET http://evil.example@localhost/healthz HTTP/1.1\r\nhost: localhost', 400],
    ['in its target, which knows no host otherwise', 'GET http://evil.example/healthz HTTP/1.0', 400],
    ['and both are the same', 'GET http://LOCALHOST:80/healthz HTTP/1.1\r\nhost: localhost:80', 200]
  ] as const
  for (const [how, head, status] of cases) {
    for (const [where, service] of [['without tokens', started], ['with tokens', startedWithTokens]] as const) {
      it(`${how} is answered ${status}, ${where}`, async () => {
        assert.equal(await statusOf(await service(), `${head}\r\nconnection: close\r\n\r\n`), status)
      })
    }
  }

  it('is not answered as the one in the target, when that is not allowed', async () => {
    assert.equal(await statusOf(await started(), 'GET http://evil.example/healthz HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n'), 403)
  })
})

const origins = new WeakMap<Service, string>()

/** The status of the one answer to what is sent as it is. */
async function statusOf (service: Service, sent: string): Promise<number> {
  const origin = origins.get(service) ?? await service.listen()
  origins.set(service, origin)
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(sent)
  return Number((await text(socket)).slice(9, 12))
}
