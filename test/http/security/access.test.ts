import assert from 'node:assert/strict'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import OpenAI, { AuthenticationError, PermissionDeniedError } from 'openai'
import { startOfficialClient } from '../../helpers/official-client.ts'
import { routesOf } from '../../helpers/routes.ts'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { bearer, tokenEntry } from '../../helpers/tokens.ts'
import { completion, sendJson } from '../../helpers/upstream-server.ts'
import { waitFor } from '../../helpers/wait-for.ts'

const registrations = {
  'templates:greet': 'Hello {{caller.name}}, you may {{join ", " caller.roles}}',
  'templates:greet_go': 'Hello {{.caller.name}}',
  'tools:a:b': { name: 'b', type: 'restful', url: 'http://127.0.0.1:1/b' }
}
const tokens = ['reader:read', 'renderer:render', 'chatter:chat', 'writer:write', 'operator:admin'].map(each => tokenEntry(each.split(':')[0] as string, each.split(':')[1] as string)).join('\n')
const withTokens = { API_TOKENS: tokens, HOST: '0.0.0.0' }

/** Routes that anybody may call: they say whether the service is well, and what its API is. */
const OPEN = /^\/(?:healthz|readyz|openapi\.json|swagger|documentation|docs.*|console.*|examples\/term\.html|api\/caller|\*)?$/

const started = shared(suite => startService(suite, registrations, withTokens))

describe('roles', () => {
  it('are asked for by every route but those of health, of the API\'s description, of the console and what leads there, and of who asks', async t => {
    const routes = await routesOf(() => startService(t, {}))
    assert.ok(routes.length > 20)
    const withoutRole = routes.filter(({ config }) => config?.role === undefined).map(({ url }) => url)
    assert.deepEqual(withoutRole.filter(url => !OPEN.test(url)), [])
  })

  const needs = [
    ['GET', '/api/prompts', 'reader'],
    ['GET', '/api/prompts/greet', 'reader'],
    ['GET', '/api/environs', 'reader'],
    ['GET', '/api/status/entries', 'reader'],
    ['POST', '/api/lint', 'reader'],
    ['POST', '/api/render/prompts/greet', 'renderer'],
    ['POST', '/api/chat/prompts/greet', 'chatter'],
    ['POST', '/v1/chat/completions', 'chatter'],
    ['GET', '/v1/models', 'chatter'],
    ['POST', '/api/tools/a.b/call', 'writer'],
    ['POST', '/api/status/reload', 'operator']
  ] as const
  for (const [method, url, holder] of needs) {
    it(`${method} ${url} is for the ${holder} and the operator, and 403 for all others`, async () => {
      const { app } = await started()
      const statusFor = async (name: string) => (await app.inject({ method, url, headers: bearer(name) })).statusCode
      for (const name of ['reader', 'renderer', 'chatter', 'writer', 'operator']) {
        const status = await statusFor(name)
        assert.equal(status === 403, name !== holder && name !== 'operator', `${name} got ${status}`)
        assert.notEqual(status, 401)
      }
    })
  }

  it('that are missing are named, with those that the token has', async () => {
    const { get } = await started()
    const { status, json, headers } = await get('/api/prompts', bearer('renderer'))
    assert.deepEqual([status, json['code'], json['details']], [403, 'ROLE_MISSING', { token: 'renderer', needs: 'read', roles: ['render'] }])
    assert.match(String(headers['www-authenticate']), /error="insufficient_scope", scope="read"/)
  })
})

describe('a request', () => {
  const refused = [
    ['without a token', {}, 'TOKEN_REQUIRED'],
    ['with a token that nobody has', { authorization: 'Bearer nobody' }, 'TOKEN_UNKNOWN'],
    ['with an empty token', { authorization: 'Bearer ' }, 'TOKEN_REQUIRED'],
    ['with another scheme', { authorization: 'Basic cmVhZGVyOng=' }, 'TOKEN_REQUIRED'],
    ['with the token in the query', {}, 'TOKEN_REQUIRED', '/api/prompts?token=reader-token'],
    ['with a token named like a prototype\'s member', { authorization: 'Bearer __proto__' }, 'TOKEN_UNKNOWN']
  ] as const
  for (const [how, headers, code, url = '/api/prompts'] of refused) {
    it(`${how} is 401 ${code} with a challenge`, async () => {
      const { get } = await started()
      const reply = await get(url, headers)
      assert.deepEqual([reply.status, reply.json['code']], [401, code])
      assert.match(String(reply.headers['www-authenticate']), /^Bearer realm="ai-prompt-shell"/)
    })
  }

  it('for health, readiness and the description of the API needs no token', async () => {
    const { app } = await started()
    for (const url of ['/healthz', '/readyz', '/openapi.json', '/docs/']) assert.equal((await app.inject(url)).statusCode, 200, url)
  })

  it('for what is not there is 404 before any token is asked for', async () => {
    const { get } = await started()
    assert.equal((await get('/api/nothing')).json['code'], 'ROUTE_NOT_FOUND')
  })

  it('is refused before its body is read', async () => {
    const { post } = await started()
    assert.equal((await post('/api/render/prompts/greet', 'x'.repeat(2 * 1024 * 1024))).status, 401)
  })
})

describe('a token in a file', () => {
  it('is refused once its line is gone, while the service runs', async t => {
    const { path: folder, remove } = await createTemporaryFolder()
    t.after(remove)
    const path = join(folder, 'tokens')
    await writeFile(path, `${tokenEntry('reader', 'read')}\n${tokenEntry('other', 'read')}\n`)
    const { get } = await startService(t, registrations, { API_TOKENS_FILE: path, HOST: '0.0.0.0' })
    assert.equal((await get('/api/prompts', bearer('reader'))).status, 200)
    await writeFile(`${path}.new`, tokenEntry('other', 'read'))
    await rename(`${path}.new`, path)
    await waitFor('the token to be refused', async () => (await get('/api/prompts', bearer('reader'))).json['code'] as unknown === 'TOKEN_UNKNOWN')
    assert.equal((await get('/api/prompts', bearer('other'))).status, 200)
  })

  const mistakes = [
    ['is not there', { API_TOKENS_FILE: '/nowhere/tokens' }, /API_TOKENS_FILE: ENOENT/],
    ['is given beside tokens', { API_TOKENS_FILE: 'x', ...withTokens }, /API_TOKENS and API_TOKENS_FILE: expected one of them, got both/],
    ['is given beside AUTH=off', { API_TOKENS_FILE: 'x', AUTH: 'off' }, /AUTH=off and API_TOKENS_FILE: expected one of them, got both/]
  ] as const
  for (const [what, environment, message] of mistakes) {
    it(`that ${what} keeps the service from starting`, async t => {
      await assert.rejects(startService(t, {}, environment), message)
    })
  }
})

describe('what is open to all', () => {
  const whole = withTokens.API_TOKENS
  const more = [whole, tokenEntry('team', 'read:prompts=team.*'), tokenEntry('rules', 'read:environs=rules.*'), tokenEntry('helpers', 'read:runs=agents.helper')].join('\n')
  const startedWithMore = shared(suite => startService(suite, registrations, { API_TOKENS: more }))
  const readers = [
    ['nobody', 'reader', false],
    ['a token that nobody has', 'stranger', false],
    ['a token that may not list', 'renderer', false],
    ['a token with patterns of prompts', 'team', false],
    ['a token with patterns of shared variables', 'rules', false],
    ['a token with patterns of agents', 'helpers', false],
    ['a token that may list everything', 'reader', true],
    ['an operator', 'operator', true]
  ] as const
  for (const [who, name, isTold] of readers) {
    it(`tells ${who} ${isTold ? 'how much' : 'neither how much nor in which revision it'} is registered`, async () => {
      const { get } = await startedWithMore()
      const { status, headers, json } = await get('/readyz', who === 'nobody' ? {} : bearer(name))
      const { extensions, prompts, environs, tools } = json['kinds'] as Record<string, Record<string, unknown>>
      const told = [json['generation'], json['revision'], ...[extensions, prompts, environs, tools].map(kind => kind?.['entries']), prompts?.['revision']]
      assert.deepEqual(told.filter(each => each !== undefined).length, isTold ? 7 : 0)
      assert.deepEqual([status, json['status'] as unknown, tools?.['held'], headers['x-registry-revision']], [200, 'ready', false, undefined])
    })
  }

  const agent = { mode: 'tools', tools: [] }
  for (const [rights, hidden, payload] of [
    ['read+write:prompts=team.*', '/api/prompts/other', { userPrompt: 'Hi' }],
    ['read+write:environs=rules.*', '/api/agents/other', agent],
    ['read+write:runs=agents.helper', '/api/agents/other', agent]
  ] as const) {
    it(`says to ${rights} nothing of a change of ${hidden}`, async t => {
      const { get, app } = await startService(t, registrations, { API_TOKENS: `${whole}\n${tokenEntry('team', rights)}` })
      const seen = async () => {
        const replies = [await get('/healthz'), await get('/readyz'), await get('/readyz', bearer('team')), await get('/api/prompts', bearer('team')), await get('/api/prompts/greet', bearer('team'))]
        return replies.map(({ headers, json }) => {
          const { ageSeconds: _age, requestId: _id, ...rest } = json
          return [rest, headers['x-registry-revision']]
        })
      }
      const before = await seen()
      const published = await app.inject({ method: 'PUT', url: hidden, headers: bearer('operator'), payload })
      assert.equal(published.statusCode, 201, published.body)
      assert.deepEqual(await seen(), before)
      assert.ok(before.every(([, revision]) => revision === undefined))
    })
  }
})

describe('the caller', () => {
  it('is known to templates of both languages by name, and by roles', async t => {
    const { post } = await startService(t, registrations, { API_TOKENS: tokenEntry('ide', 'render+chat') })
    assert.equal((await post('/api/render/prompts/greet', {}, bearer('ide'))).json['rendered_prompt'], 'Hello ide, you may chat, render')
    assert.equal((await post('/api/render/prompts/greet_go', {}, bearer('ide'))).json['rendered_prompt'], 'Hello ide')
  })

  it('is nobody without access control: a template that uses the name gets 400', async t => {
    const { post } = await startService(t, registrations)
    const { json } = await post('/api/render/prompts/greet_go')
    assert.deepEqual([json['code'], json['details']?.['missing']?.[0]?.['path']], ['VARIABLE_MISSING', 'caller.name'])
  })

  it('cannot be forged with variables', async t => {
    const { post } = await startService(t, registrations, { API_TOKENS: tokenEntry('ide', 'render') })
    const { json } = await post('/api/render/prompts/greet_go', { variables: { caller: { name: 'root' } } }, bearer('ide'))
    assert.equal(json['rendered_prompt'], 'Hello ide')
  })
})

describe('the official client', () => {
  it('is let in by its apiKey, which the upstream never sees', async t => {
    const { client, upstream } = await startOfficialClient(t, (_hit, response) => sendJson(response, 200, completion('Hello')), {}, { API_TOKENS: tokenEntry('sdk', 'chat'), LLM_API_KEY: 'sk-of-the-service' })
    const answer = await new OpenAI({ baseURL: client.baseURL, apiKey: 'sdk-token' }).chat.completions.create({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] })
    assert.equal(answer.choices[0]?.message.content, 'Hello')
    assert.equal(upstream.hits[0]?.headers['authorization'], 'Bearer sk-of-the-service')
    assert.doesNotMatch(JSON.stringify(upstream.hits), /sdk-token/)
  })

  it('raises its own errors for a wrong key and for a missing role', async t => {
    const { client } = await startOfficialClient(t, () => {}, {}, { API_TOKENS: `${tokenEntry('sdk', 'chat')}\n${tokenEntry('reader', 'read')}` })
    await assert.rejects(client.models.list(), (error: Error) => error instanceof AuthenticationError && error.code === 'TOKEN_UNKNOWN' && error.type === 'authentication_error')
    await assert.rejects(new OpenAI({ baseURL: client.baseURL, apiKey: 'reader-token' }).models.list(), PermissionDeniedError)
  })
})
