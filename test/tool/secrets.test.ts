import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type JsonObject } from '../../src/base/json.ts'
import { createBaseUrls, parseBaseUrls } from '../../src/tool/operator.ts'
import { redactJson } from '../../src/base/redact.ts'
import { parseSecrets } from '../../src/tool/definition.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom } from './tool-room.ts'

const VALUE = 's3cr3t "quoted" \\value'
const HEADERS = { Authorization: 'Bearer ${secret:TOKEN}' } // eslint-disable-line no-template-curly-in-string

describe('secrets', () => {
  const bindings: readonly [bindings: string, host: string, revealed: boolean][] = [
    ['TOKEN=api.example', 'api.example', true],
    ['TOKEN=api.example', 'API.example:8443', true],
    ['TOKEN=api.example:8443', 'api.example:8443', true],
    ['TOKEN=api.example:8443', 'api.example', false],
    ['TOKEN=api.example:8443', 'api.example:443', false],
    ['TOKEN=a.example | b.example', 'b.example', true],
    ['TOKEN=api.example', 'evil.api.example', false],
    ['TOKEN=api.example', 'api.example.evil', false],
    ['OTHER=api.example', 'api.example', false]
  ]
  for (const [text, host, revealed] of bindings) {
    it(`${revealed ? 'go' : 'do not go'} to ${host} when bound by ${text}`, () => {
      const secrets = parseSecrets(text, { TOOL_SECRET_TOKEN: VALUE, TOOL_SECRET_OTHER: 'other-value' })
      assert.equal(secrets.reveal('TOKEN', host), revealed ? VALUE : undefined)
    })
  }

  const bad: readonly [bindings: string, value: string | undefined, message: string][] = [
    ['TOKEN', 'x', 'TOOL_SECRETS: "TOKEN" must be NAME=host|host'],
    ['TO KEN=a', 'x', 'TOOL_SECRETS: "TO KEN=a" must be NAME=host|host'],
    ['TOKEN=a', undefined, 'TOOL_SECRETS: TOOL_SECRET_TOKEN is not set'],
    ['TOKEN=a', 'short', 'TOOL_SECRETS: TOOL_SECRET_TOKEN is shorter than 8 characters'],
    ['TOKEN=a', 'line\nbreak', 'TOOL_SECRETS: TOOL_SECRET_TOKEN holds characters that no header may hold']
  ]
  for (const [text, value, message] of bad) {
    it(`stop the start: ${message}`, () => assert.throws(() => parseSecrets(text, { TOOL_SECRET_TOKEN: value }), { message }))
  }

  it('are taken out of names, texts and lists', () => {
    assert.deepEqual(redactJson({ a: ['x-key-y', 1], key: null }, ['key']), { a: ['x-[secret]-y', 1], '[secret]': null })
  })

  it('are taken out whole where one begins another', () => {
    assert.equal(redactJson('prefix prefix-and-more', ['prefix', 'prefix-and-more']), '[secret] [secret]')
  })

  it('are taken out of JSON within a text, however it spells them', () => {
    assert.equal(redactJson(JSON.stringify({ said: VALUE, slash: '\\u002f' }), [VALUE]), '{"said":"[secret]","slash":"\\\\u002f"}')
    assert.equal(redactJson('pass\\/word, pass\\u002fword', ['pass/word']), '[secret], [secret]')
  })

  it('arrive at their host, and come back in no result, error or log', async test => {
    const server = await startRestfulToolServer(test, { '/fail': (response, { headers }) => response.writeHead(500, String(headers.authorization).replaceAll(/[^\w ]/g, '')).end() })
    const room = createToolRoom(test, { secrets: parseSecrets('TOKEN=127.0.0.1', { TOOL_SECRET_TOKEN: VALUE }) })
    const echoed = await room.call(room.register({ url: `${server.origin}/echo`, headers: HEADERS }))
    const failed = await room.call(room.register({ url: `${server.origin}/fail`, headers: HEADERS }))
    assert.equal(server.requests[0]?.headers.authorization, `Bearer ${VALUE}`)
    assert.equal((echoed.value as { headers: JsonObject }).headers['authorization'], 'Bearer [secret]')
    assert.doesNotMatch(JSON.stringify([failed.error?.message, room.warnings]), /s3cr3t/)
  })

  it('do not go to a host that a module names later', async test => {
    const server = await startRestfulToolServer(test)
    const baseUrls = createBaseUrls({ byModule: new Map(), modules: { has: () => true, get: async () => server.origin } })
    const room = createToolRoom(test, { baseUrls, secrets: parseSecrets('TOKEN=api.example', { TOOL_SECRET_TOKEN: VALUE }) })
    const { error } = await room.call(room.register({ module: 'm', url: '/echo', headers: HEADERS }))
    assert.deepEqual([error?.code, error?.message, server.requests.length], ['SECRET_REFUSED', `secret "TOKEN" is not bound to 127.0.0.1:${server.port}`, 0])
  })
})

describe('base URLs', () => {
  const directory = (values: Readonly<Record<string, unknown>>) => ({
    has: (module: string) => Object.hasOwn(values, module),
    get: async (module: string) => values[module] as never
  })
  const fallback = new URL('http://fallback.example')
  const cases: readonly [title: string, module: string | undefined, url: string][] = [
    ['the operator\'s entry', 'both', 'http://configured.example/'],
    ['a published text', 'text', 'http://text.example/api'],
    ['a published base_url', 'snake', 'http://snake.example/'],
    ['a published baseUrl', 'camel', 'http://camel.example/'],
    ['a published url', 'url', 'http://url.example/'],
    ['the fallback for a module that is not known', 'unknown', 'http://fallback.example/'],
    ['the fallback for a tool without a module', undefined, 'http://fallback.example/'],
    ['the fallback for a module called __proto__', '__proto__', 'http://fallback.example/']
  ]
  const published = { both: 'http://published.example', text: 'http://text.example/api', snake: { base_url: 'http://snake.example' }, camel: { baseUrl: 'http://camel.example' }, url: { url: 'http://url.example' } }
  for (const [title, module, url] of cases) {
    it(`are found: ${title}`, async () => {
      const baseUrls = createBaseUrls({ byModule: parseBaseUrls('both=http://configured.example'), fallback, modules: directory(published) })
      assert.equal((await baseUrls.of(module, new AbortController().signal)).href, url)
    })
  }

  const bad: readonly [title: string, value: unknown, message: RegExp][] = [
    ['an object without a URL', { port: 1 }, /modules\.m holds no URL/],
    ['a number', 1, /holds no URL/],
    ['another scheme', 'file:///etc/passwd', /modules\.m holds no base URL/],
    ['credentials', 'http://u:p@a.example', /modules\.m holds no base URL/]
  ]
  for (const [title, value, message] of bad) {
    it(`are refused when a module publishes ${title}`, async () => {
      const baseUrls = createBaseUrls({ byModule: new Map(), fallback, modules: directory({ m: value }) })
      await assert.rejects(baseUrls.of('m', new AbortController().signal), { code: 'BASE_URL_MISSING', message })
    })
  }

  it('fail the call when none is known', async test => {
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ module: 'm', url: '/x' }))
    assert.deepEqual([error?.code, error?.message], ['BASE_URL_MISSING', 'no base URL is known for module "m"'])
  })

  for (const text of ['x', '=http://a.example', 'm=a.example']) {
    it(`stop the start: TOOL_BASE_URLS=${text}`, () => assert.throws(() => parseBaseUrls(text), Error))
  }
})
