import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { type Json } from '../../src/base/json.ts'
import { modelNames, parseSecrets } from '../../src/tool/definition.ts'
import { createBaseUrls, parseBaseUrls } from '../../src/tool/operator.ts'
import { createToolReader } from '../../src/tool/tool-reader.ts'
import { type RestfulDefinition } from '../../src/tool/restful-type.ts'
import { TOOL_TYPES } from '../../src/tool/tool-types.ts'
import { createTestOperator, define } from './tool-room.ts'

/** The example of the design document. */
const TRANSLATE = {
  name: 'translate_zh_en',
  module: 'translator',
  type: 'restful',
  url: '/translate/zh/en',
  description: 'Translates comments',
  supports: ['chat', 'completion', 'codereview'],
  parameters: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { code: { type: 'string', description: 'code' } }, required: ['code'] },
  returns: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', properties: { translated_code: { type: 'string' } } }
}

const operator = createTestOperator({
  secrets: parseSecrets('TOKEN=api.example|other.example:8443', { TOOL_SECRET_TOKEN: 'secret-value' }),
  baseUrls: createBaseUrls({ byModule: parseBaseUrls('known=http://known.example'), modules: { has: module => module === 'published', get: async () => undefined } }),
  commands: new Map([['everything', { command: 'node', arguments: [] }]])
})

const reader = createToolReader(TOOL_TYPES, operator)

describe('a tool definition', () => {
  it('is read from the flat form of the design document', () => {
    const definition = define(TRANSLATE, operator, 'translator.zh_en') as RestfulDefinition
    assert.equal(definition.type, 'restful')
    assert.deepEqual([definition.id, definition.name, definition.module, definition.method, definition.url.path, definition.parameters?.names], ['translator.zh_en', 'translator_zh_en', 'translator', 'POST', '/translate/zh/en', ['code']])
    assert.deepEqual(definition.policy, { timeout: undefined, isRepeatable: false, retries: 0, cacheTtl: 0, breaker: { failureRate: 0.5, minimumCalls: 10, coolDown: 10_000 }, concurrency: 64, onError: 'default', strictReturns: false })
  })

  const good: readonly [title: string, registration: object, expected: Record<string, unknown>][] = [
    ['nested restful', { restful: { url: 'http://a.example/x', method: 'GET' }, examples: [1] }, { type: 'restful', method: 'GET' }],
    ['flat method', { url: 'http://a.example/x', method: 'PATCH' }, { type: 'restful', method: 'PATCH' }],
    ['nested wins over flat', { url: 'http://flat.example', restful: { url: 'http://nested.example' } }, { url: { origin: 'http://nested.example', path: '/', placeholders: [] } }],
    ['placeholders', { url: 'http://a.example/{a}/x?b={b_c}' }, { url: { origin: 'http://a.example', path: '/{a}/x?b={b_c}', placeholders: ['a', 'b_c'] } }],
    ['grpc', { grpc: { url: 'a.example:50051', method: 'p.S/M' } }, { type: 'grpc', target: { host: 'a.example', port: 50051, tls: false }, service: 'p.S', method: 'M' }],
    ['flat grpc', { type: 'grpc', url: 'grpcs://a.example:443', method: 'p.v1.S/M' }, { target: { host: 'a.example', port: 443, tls: true }, service: 'p.v1.S', method: 'M' }],
    ['grpc with its method in the path', { type: 'grpc', url: 'grpc://[2606:4700::1]:50051/p.S/M' }, { target: { host: '2606:4700::1', port: 50051, tls: false }, service: 'p.S', method: 'M' }],
    ['relative grpc', { type: 'grpc', module: 'known', url: '/p.S/M' }, { target: undefined, service: 'p.S', method: 'M' }],
    ['mcp by address', { mcp: { url: 'http://a.example/mcp', tool: 'search' } }, { type: 'mcp', server: { kind: 'http', url: 'http://a.example/mcp' }, tool: 'search' }],
    ['mcp by command', { mcp: { command: 'everything', tool: 'echo' } }, { server: { kind: 'stdio', command: 'everything' }, tool: 'echo' }],
    ['policy', { url: 'http://a.example', method: 'GET', timeout: 100, retries: 2, cacheTtl: 5, breaker: { minimumCalls: 1 }, concurrency: 2, onError: 'abort', strictReturns: true }, { policy: { timeout: 100, isRepeatable: true, retries: 2, cacheTtl: 5, breaker: { failureRate: 0.5, minimumCalls: 1, coolDown: 10_000 }, concurrency: 2, onError: 'abort', strictReturns: true } }],
    ['no breaker', { url: 'http://a.example', breaker: false }, { policy: { timeout: undefined, isRepeatable: false, retries: 0, cacheTtl: 0, breaker: undefined, concurrency: 64, onError: 'default', strictReturns: false } }],
    ['secret bound to the host', { url: 'https://api.example/x', headers: { Authorization: 'Bearer ${secret:TOKEN}' } }, { headers: [{ name: 'authorization', value: 'Bearer ${secret:TOKEN}', secrets: ['TOKEN'] }] }], // eslint-disable-line no-template-curly-in-string
    ['unknown members', { url: 'http://a.example', 'x-owner': 'me' }, { type: 'restful' }]
  ]
  for (const [title, registration, expected] of good) {
    it(`is read: ${title}`, () => {
      const definition = define(registration, operator) as unknown as Record<string, unknown>
      assert.deepEqual(Object.fromEntries(Object.keys(expected).map(key => [key, definition[key]])), expected)
    })
  }

  const servers: readonly [id: string, mcp: object, tool: string | undefined][] = [
    ['mcp.chrome', {}, undefined], ['mcp.chrome.xx', {}, 'xx'], ['mcp.chrome.xx', { tool: 'other' }, 'other'], ['mcp.chrome', { tool: 'one' }, 'one']
  ]
  for (const [id, mcp, tool] of servers) {
    it(`of ${id} ${JSON.stringify(mcp)} stands for ${tool ?? 'the whole server'}`, () => {
      const definition = define({ mcp: { url: 'http://a.example', ...mcp } }, operator, id)
      assert.deepEqual([definition.type, definition.tool], ['mcp', tool])
    })
  }

  const bad: readonly [registration: unknown, message: RegExp][] = [
    ['text', /^tool must be object/],
    [null, /^tool must be object/],
    [{}, /a restful tool needs a "url"/],
    [{ type: 'soap', url: 'http://a.example' }, /^tool\.type must be one of "restful","grpc","mcp"/],
    [{ url: 1 }, /^tool\.url must be string/],
    [{ url: 'http://a.example', timeout: 0 }, /^tool\.timeout must be >= 1/],
    [{ url: 'http://a.example', parameters: 'x' }, /^tool\.parameters must be array or object/],
    [{ url: 'http://a.example', onError: 'ignore' }, /^tool\.onError must be one of/],
    [{ url: 'http://a.example', method: 'FETCH' }, /method "FETCH" must be one of/],
    [{ restful: { url: 'http://a.example', method: 'get' } }, /^tool\.restful\.method must be one of/],
    [{ restful: 'http://a.example' }, /^tool\.restful must be object/],
    [{ url: 'ftp://a.example/x' }, /"ftp" is no scheme for a restful tool/],
    [{ url: 'file:///etc/passwd' }, /"file" is no scheme/],
    [{ url: 'translate/zh' }, /must be http/],
    [{ url: '//a.example/x' }, /must be http/],
    [{ url: 'http://{host}/x' }, /no \{placeholder\} can stand in the host/],
    [{ url: 'http://a.example:{port}/x' }, /no \{placeholder\} can stand in the host/],
    [{ url: 'http://user:password@a.example/' }, /holds credentials/],
    [{ url: 'http://a.example/{' }, /broken \{placeholder\}/],
    [{ url: 'http://a.example/{a b}' }, /broken \{placeholder\}/],
    [{ url: 'http://a.example/#x' }, /fragment/],
    [{ url: 'http://a.example/x y' }, /blank/],
    [{ url: 'http://a.example/x\u0001y' }, /control character/],
    [{ url: 'http://a.example\\@b.example/' }, /blank|valid/],
    [{ url: 'http://169.254.169.254/' }, /^url: leads to 169\.254\.169\.254 \(linkLocal\), which the egress policy refuses/],
    [{ url: 'http://a.example', parameters: { type: 'object', properties: { a: { type: 'text' } } } }, /^parameters: schema\.properties\.a\.type must be one of/],
    [{ url: 'http://a.example', returns: { pattern: '(?=x)' } }, /^returns: /],
    [{ url: 'http://a.example', headers: { Host: 'b.example' } }, /header "Host" cannot be set/],
    [{ url: 'http://a.example', headers: { 'Content-Length': '1' } }, /cannot be set/],
    [{ url: 'http://a.example', headers: { 'a b': '1' } }, /cannot be set/],
    [{ url: 'http://a.example', headers: { a: 'x\r\nb: y' } }, /no header may hold/],
    [{ url: 'http://api.example', headers: { a: '${secret:OTHER}' } }, /refers to secret "OTHER", which the operator has not defined/], // eslint-disable-line no-template-curly-in-string
    [{ url: 'http://api.example', headers: { a: '${secret:__proto__}' } }, /has not defined/], // eslint-disable-line no-template-curly-in-string
    [{ url: 'http://api.example', headers: { a: '${env:HOME}' } }, /broken reference/], // eslint-disable-line no-template-curly-in-string
    [{ url: 'http://evil.example', headers: { a: '${secret:TOKEN}' } }, /secret "TOKEN" is not bound to evil\.example/], // eslint-disable-line no-template-curly-in-string
    [{ url: 'http://other.example', headers: { a: '${secret:TOKEN}' } }, /not bound to other\.example/], // eslint-disable-line no-template-curly-in-string
    [{ grpc: { url: 'a.example', method: 'p.S/M' } }, /url: must be host:port/],
    [{ grpc: { url: 'a.example:99999', method: 'p.S/M' } }, /url: must be host:port/],
    [{ grpc: { url: 'unix:///run/x.sock', method: 'p.S/M' } }, /url: must be host:port/],
    [{ grpc: { url: 'dns:///a.example:1', method: 'p.S/M' } }, /url: must be host:port/],
    [{ grpc: { url: 'a.example:1', method: 'p.S/M' }, headers: { 'trace-bin': 'x' } }, /header "trace-bin" cannot be set/],
    [{ grpc: { url: 'a.example:1' } }, /needs a "method"/],
    [{ mcp: {} }, /either a "url" or a "command"/],
    [{ mcp: { url: 'http://a.example', command: 'everything' } }, /either a "url" or a "command"/],
    [{ mcp: { command: 'rm -rf /' } }, /command "rm -rf \/" is not one that the operator allows/],
    [{ mcp: { command: 'everything' }, headers: { a: 'b' } }, /a command takes no headers/],
    [{ mcp: { url: '/mcp' } }, /must be absolute/],
    [{ url: 'http://a.example', headers: { authorization: '[secret]' } }, /header "authorization" is \[secret\], as it is shown: write the credential itself, or \${secret:NAME}/]
  ]
  for (const [registration, message] of bad) {
    it(`is refused with a reason: ${JSON.stringify(registration).slice(0, 90)}`, () => {
      const { definition, diagnostics } = reader.read('tool', 'tool', registration as Json)
      assert.equal(definition, undefined)
      assert.deepEqual(diagnostics.map(({ severity }) => severity), ['error'])
      assert.match(diagnostics[0]?.message ?? '', message)
    })
  }

  const advised: readonly [registration: object, codes: readonly string[]][] = [
    [{ module: 'unknown', url: '/x' }, ['TOOL_BASE_URL_MISSING']],
    [{ url: '/x' }, ['TOOL_BASE_URL_MISSING']],
    [{ module: 'known', url: '/x' }, []],
    [{ module: 'published', url: '/x' }, []],
    [{ url: 'http://a.example', headers: { 'X-Api-Key': 'abc' } }, ['TOOL_CREDENTIAL_IN_CLEAR']],
    [{ url: 'http://a.example', headers: { accept: 'text/plain' } }, []]
  ]
  for (const [registration, codes] of advised) {
    it(`comes with the advice [${codes}]: ${JSON.stringify(registration)}`, () => {
      const { definition, diagnostics } = reader.read('tool', 'tool', registration as Json)
      assert.ok(definition)
      assert.deepEqual([...diagnostics, ...reader.adviseOnAddress(definition)].map(({ code }) => code), codes)
    })
  }

  it('has a revision that changes with what is registered and with nothing else', () => {
    const revisions = [TRANSLATE, { ...TRANSLATE }, Object.fromEntries(Object.entries(TRANSLATE).reverse()), { ...TRANSLATE, description: 'x' }].map(registration => define(registration, operator).revision)
    assert.equal(new Set(revisions.slice(0, 3)).size, 1)
    assert.notEqual(revisions[3], revisions[0])
  })
})

describe('jsonschema/tool.json', () => {
  it('is a valid JSON Schema by itself and accepts the example of the design document', () => {
    const schema = JSON.parse(readFileSync(new URL('../../jsonschema/tool.json', import.meta.url), 'utf8')) as object
    // Conditions ask for fields that are declared outside of them.
    const validate = new Ajv2020({ strict: true, strictRequired: false, allowUnionTypes: true }).compile(schema)
    assert.equal(validate(TRANSLATE), true)
  })

  it('names the types of the table, and declares a member for each', () => {
    const { properties } = JSON.parse(readFileSync(new URL('../../jsonschema/tool.json', import.meta.url), 'utf8')) as { properties: Record<string, { enum?: unknown }> }
    const names = TOOL_TYPES.map(({ name }) => name)
    assert.deepEqual(properties['type']?.enum, names)
    assert.deepEqual(names.filter(name => !Object.hasOwn(properties, name)), [])
  })
})

describe('the names of tools as functions for a model', () => {
  const long = 'x'.repeat(70)
  const cases: readonly [title: string, names: readonly string[], given: readonly string[]][] = [
    ['stay as they are', ['a_b', 'a-b'], ['a_b', 'a-b']],
    ['differ where letters of a language are lost', ['оплата', 'возвра'], ['______', '_______#']],
    ['differ where their ends are cut', [`${long}a`, `${long}b`], ['x'.repeat(64), `${'x'.repeat(55)}_#`]],
    ['go to the tool that is called so already', ['a.b', 'a_b'], ['a_b_#', 'a_b']]
  ]
  for (const [title, names, given] of cases) {
    it(title, () => {
      const named = modelNames(names)
      const hashless = (name: string) => name.replace(/_[0-9a-f]{8}$/, '_#')
      assert.deepEqual(names.map(name => hashless(named.get(name) as string)), given)
      assert.equal(new Set(named.values()).size, names.length)
    })
  }

  it('are none that the request declares itself', () => {
    assert.notEqual(modelNames(['a.b'], new Set(['a_b'])).get('a.b'), 'a_b')
  })
})
