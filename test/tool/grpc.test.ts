import { ServerCredentials } from '@grpc/grpc-js'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import descriptor from 'protobufjs/ext/descriptor/index.js'
import { type JsonObject, stringifyJson } from '../../src/base/json.ts'
import { NOTHING } from '../../src/template/value.ts'
import { createBaseUrls, parseBaseUrls } from '../../src/tool/operator.ts'
import { type RegisteredTool } from '../../src/tool/registered-tool.ts'
import { parseSecrets } from '../../src/tool/definition.ts'
import { startGrpcToolServer, TRANSLATOR_PROTO, translatorDescriptorSet } from '../helpers/grpc-tool-server.ts'
import { type Describe, startReflectingServer } from '../helpers/reflecting-server.ts'
import { createToolRoom, until } from './tool-room.ts'

const METHOD = 'translate.Translator/Translate'

const translate = (url: string, method = 'Translate', extra: object = {}) => ({ grpc: { url, method: `translate.Translator/${method}`, proto: TRANSLATOR_PROTO }, ...extra })

describe('grpc tool', () => {
  const sources: readonly [name: string, reflection: string, extra: object][] = [
    ['server reflection', 'v1 v1alpha', {}],
    ['server reflection of today', 'v1', {}],
    ['server reflection of old', 'v1alpha', {}],
    ['proto text in the registration', '', { proto: TRANSLATOR_PROTO }],
    ['a descriptor set in the registration', '', { descriptorSet: translatorDescriptorSet() }]
  ]
  for (const [name, reflection, extra] of sources) {
    it(`finds its method by ${name}`, async test => {
      const server = await startGrpcToolServer(test, { reflection })
      const room = createToolRoom(test)
      const tool = room.register({ grpc: { url: server.address, method: METHOD, ...extra } })
      const { outcome, value, error } = await room.call(tool, { text: 'hallo', request_id: 9007199254740993n, tone: 'FORMAL', glossary: ['a'], blob: 'AQI=' })
      assert.equal(error?.message, undefined)
      assert.equal(outcome, 'ok')
      assert.deepEqual(value, {
        translated_text: '<hallo>',
        request_id: 9007199254740993n,
        tone: 'FORMAL',
        glossary: ['a'],
        blob: 'AQI=',
        count: 0,
        scores: { de: 0.5 },
        at: { seconds: 1700000000, nanos: 5 },
        token: ''
      })
    })
  }

  for (const [name, reflection, extra] of sources) {
    it(`knows the keys of maps by ${name}`, async test => {
      const server = await startGrpcToolServer(test, { reflection })
      const room = createToolRoom(test)
      const keys = { flags: { true: 'yes', false: 'no' }, signed: { 5: 'a', '-7': 'b' }, unsigned: { '18446744073709551615': 'c' } }
      const { value, error } = await room.call(room.register({ grpc: { url: server.address, method: 'translate.Translator/Echo', ...extra } }), { ...keys, nested: { x: { ...keys, nested: {} } } })
      assert.equal(error?.message, undefined)
      assert.deepEqual(value, { ...keys, nested: { x: { ...keys, nested: {} } } })
    })
  }

  it('says in words of the system why it cannot be described', async test => {
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ grpc: { url: '127.0.0.1:1', method: METHOD } }), {})
    assert.deepEqual([error?.code, error?.message], ['UNREACHABLE', 'could not be reached: ECONNREFUSED'])
  })

  const unknown: readonly [title: string, reflection: string, method: string, message: string][] = [
    ['a service that the server does not describe', 'v1 v1alpha', 'g.Nope/Translate', 'the server does not describe g.Nope: Symbol not found: g.Nope'],
    ['a service that a server of today does not describe', 'v1', 'g.Nope/Translate', 'the server does not describe g.Nope: Symbol not found: g.Nope'],
    ['a method that the server does not describe', 'v1', 'translate.Translator/Nope', 'there is no method translate.Translator/Nope'],
    ['a server without reflection, where the registration has no description', '', METHOD, 'the server has no reflection: give "proto" or "descriptorSet"']
  ]
  for (const [title, reflection, method, message] of unknown) {
    it(`says what is unknown: ${title}`, async test => {
      const server = await startGrpcToolServer(test, { reflection })
      const room = createToolRoom(test)
      const { outcome, value, error } = await room.call(room.register({ grpc: { url: server.address, method } }), { text: 'x' })
      assert.deepEqual([outcome, value], ['failed', NOTHING])
      assert.deepEqual([error?.code, error?.transient, error?.message], ['UNKNOWN_METHOD', false, message])
    })
  }

  const fields = (count: number, field: object = { type: 9 }) => Array.from({ length: count }, (_field, index) => ({ name: `f${index}`, number: index + 1, label: 1, ...field }))
  const messages = (count: number, size: number) => Array.from({ length: count }, (_message, index) => ({ name: `M${index}`, field: [...fields(size), { name: 'next', number: 9999, label: 1, type: 11, typeName: `.translate.M${index + 1}` }] }))
  const described = (file: object) => ({ descriptorSet: Buffer.from(descriptor.FileDescriptorSet.encode({ file: [file] }).finish()).toString('base64') })
  const TRANSLATE = { name: 'Translator', method: [{ name: 'Translate', inputType: '.translate.M0', outputType: '.translate.M0' }] }
  const file = (...messageType: object[]) => ({ name: 'a.proto', package: 'translate', syntax: 'proto3', messageType, service: [TRANSLATE] })
  const wide = file({ name: 'M0', nestedType: [{ name: 'N', field: fields(301) }] })
  const deep = file(...messages(9, 250), { name: 'M9' })
  const choice = { ...file({ name: 'M0', field: fields(30, { type: 14, typeName: '.translate.E' }) }), enumType: [{ name: 'E', value: Array.from({ length: 100 }, (_value, index) => ({ name: `V${index}`, number: index })) }] }
  const oversized: readonly [title: string, description: object, message: RegExp][] = [
    ['a proto of many fields', { proto: `syntax = "proto3"; message M { ${'bool a = 1; '.repeat(2000)} }` }, /^"proto" has at most 2000 statements, not 2001: /],
    ['a message of many fields', described(wide), /^a message of "descriptorSet" has at most 300 fields; N has 301$/],
    ['messages of many fields together', described(deep), /^the messages of one method have at most 2000 fields together in "descriptorSet"$/],
    ['fields that may be many things', described(choice), /^a message of "descriptorSet" has at most 300 fields; M0 has 630$/]
  ]
  for (const [title, description, message] of oversized) {
    it(`refuses a description that takes long to read: ${title}`, async test => {
      const room = createToolRoom(test)
      const { error } = await room.call(room.register({ grpc: { url: '127.0.0.1:1', method: METHOD, ...description } }), { text: 'x' })
      assert.equal(error?.code, 'UNKNOWN_METHOD')
      assert.match(error.message, message)
    })
  }

  const hostile: readonly [title: string, describe: Describe, code: string, message: string, questions: number][] = [
    ['a message of many fields', () => [file({ name: 'M0', field: fields(10_000) })], 'UNKNOWN_METHOD', 'a message of what the server describes has at most 300 fields; M0 has 10000', 1],
    ['messages of many fields together', () => [deep], 'UNKNOWN_METHOD', 'the messages of one method have at most 2000 fields together in what the server describes', 1],
    ['a file that needs others, and so on', name => [{ ...file({ name: 'M0' }), name, dependency: Array.from({ length: 20 }, (_file, index) => `${name}-${index}`) }], 'UNKNOWN_METHOD', 'the server describes translate.Translator in more than 200 files', 10],
    ['a file that needs many', name => [{ ...file({ name: 'M0' }), name, dependency: Array.from({ length: 2400 }, (_file, index) => `${index}`) }], 'UNKNOWN_METHOD', 'the server describes translate.Translator in more than 200 files', 1],
    ['many files at once', () => Array.from({ length: 300 }, (_file, index) => ({ name: `${index}` })), 'UNKNOWN_METHOD', 'the server describes translate.Translator in more than 200 files', 1],
    ['large files', name => [{ ...file({ name: 'M0' }), name, package: 'p'.repeat(400_000), dependency: [`${name}x`] }], 'REPLY_TOO_LARGE', 'describes translate.Translator in more than 1048576 bytes', 3],
    ['a description of another service', () => [{ name: 'b.proto', package: 'other' }], 'UNKNOWN_METHOD', 'there is no method translate.Translator/Translate', 1],
    ['an empty reply', () => Buffer.alloc(0), 'UNKNOWN_METHOD', 'there is no method translate.Translator/Translate', 1],
    ['what is no description', () => Buffer.from([0x22, 0x7f, 1]), 'REPLY_INVALID', 'its reflection sent what is no description', 1]
  ]
  for (const [title, describe, code, message, questions] of hostile) {
    it(`holds the reflection of a server within bounds: ${title}`, async test => {
      const server = await startReflectingServer(test, describe)
      const room = createToolRoom(test)
      const { error } = await room.call(room.register({ grpc: { url: server.address, method: METHOD } }))
      assert.deepEqual([error?.code, error?.message, server.questions.length], [code, message, questions])
    })
  }

  it('asks for each file once that a description needs, and needs no more of them than the method does', async test => {
    const files = new Map([
      ['a.proto', { dependency: ['b.proto', 'c.proto'], service: [{ name: 'Translator', method: [{ name: 'Translate', inputType: '.translate.Outer.Request', outputType: '.translate.Outer.Request' }] }] }],
      ['b.proto', { dependency: ['c.proto'], messageType: [{ name: 'Outer', field: fields(3), nestedType: [{ name: 'Request', field: [{ name: 'text', number: 1, label: 1, type: 9 }, { name: 'more', number: 9, label: 1, type: 11, typeName: '.translate.More' }] }] }] }],
      ['c.proto', { dependency: ['b.proto'], messageType: [{ name: 'More' }, ...messages(20, 250), { name: 'M20' }] }]
    ])
    const reflecting = await startReflectingServer(test, name => [{ name: files.has(name) ? name : 'a.proto', package: 'translate', syntax: 'proto3', ...files.get(files.has(name) ? name : 'a.proto') }])
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ grpc: { url: reflecting.address, method: METHOD } }), { text: 'x', more: {} })
    assert.deepEqual(reflecting.questions, ['translate.Translator', 'b.proto', 'c.proto'])
    // Found, encoded and sent: it has no such method.
    assert.match(error?.message ?? '', /gRPC status 12/)
  })

  it('is unreachable for its description, too, when nobody listens', async test => {
    const server = await startGrpcToolServer(test, { reflection: 'v1' })
    server.stop()
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ grpc: { url: server.address, method: METHOD } }), { text: 'x' })
    assert.deepEqual([error?.code, error?.transient], ['UNREACHABLE', true])
  })

  it('speaks TLS to grpcs:// with the certificates that the operator trusts', async test => {
    const [cert, key] = ['cert', 'key'].map(name => readFileSync(new URL(`fixtures/localhost-${name}.pem`, import.meta.url))) as [Buffer, Buffer]
    const server = await startGrpcToolServer(test, { credentials: ServerCredentials.createSsl(null, [{ private_key: key, cert_chain: cert }]) })
    const room = createToolRoom(test, { tls: { ca: cert, key: null, cert: null } })
    const { outcome, error } = await room.call(room.register(translate(`grpcs://localhost:${server.port}`)), { text: 'x' })
    assert.deepEqual([outcome, error?.message], ['ok', undefined])
  })

  it('refuses a certificate that nobody trusts', async test => {
    const [cert, key] = ['cert', 'key'].map(name => readFileSync(new URL(`fixtures/localhost-${name}.pem`, import.meta.url))) as [Buffer, Buffer]
    const server = await startGrpcToolServer(test, { credentials: ServerCredentials.createSsl(null, [{ private_key: key, cert_chain: cert }]) })
    const room = createToolRoom(test)
    const { error } = await room.call(room.register(translate(`grpcs://localhost:${server.port}`)), { text: 'x' })
    assert.equal(error?.code, 'UNREACHABLE')
    assert.equal(server.calls.length, 0)
  })

  it('is found at the base URL of its module', async test => {
    const server = await startGrpcToolServer(test)
    const baseUrls = createBaseUrls({ byModule: parseBaseUrls(`translator=grpc://${server.address}`), modules: { has: () => false, get: async () => undefined } })
    const room = createToolRoom(test, { baseUrls })
    const { outcome } = await room.call(room.register(translate('/', 'Translate', { module: 'translator' })), { text: 'x' })
    assert.equal(outcome, 'ok')
  })

  it('lets go of its server once, however many calls find that its module has moved', async test => {
    const [first, second] = [await startGrpcToolServer(test), await startGrpcToolServer(test)]
    let address = first.address
    const modules = { has: () => true, get: async () => `grpc://${address}` }
    const room = createToolRoom(test, { baseUrls: createBaseUrls({ byModule: new Map(), modules }) })
    const tool = (id: string) => room.define(translate('/', 'Translate', { module: 'translator' }), id)
    const [moving, staying] = room.caller.register([tool('test.moving'), tool('test.staying')]) as [RegisteredTool, RegisteredTool]
    const outcomes = async (...tools: RegisteredTool[]) => (await Promise.all(tools.map(each => room.call(each, { text: 'x' })))).map(({ outcome }) => outcome)
    assert.deepEqual(await outcomes(moving, staying), ['ok', 'ok'])
    address = second.address
    assert.deepEqual(await outcomes(moving, moving), ['ok', 'ok'])
    assert.equal(second.calls.length, 2)
    address = first.address
    assert.deepEqual(await outcomes(staying), ['ok'])
  })

  it('does not tell the base URL that is none for gRPC', async test => {
    const baseUrls = createBaseUrls({ byModule: parseBaseUrls('translator=http://hidden.example/'), modules: { has: () => false, get: async () => undefined } })
    const room = createToolRoom(test, { baseUrls })
    const { error } = await room.call(room.register(translate('/', 'Translate', { module: 'translator' })), { text: 'x' })
    assert.deepEqual([error?.code, error?.message], ['BASE_URL_MISSING', 'the base URL of its module must be host:port, grpc://host:port or grpcs://host:port'])
  })

  it('sends a secret as metadata and takes it out of replies and errors', async test => {
    const server = await startGrpcToolServer(test)
    const secrets = parseSecrets('TOKEN=127.0.0.1', { TOOL_SECRET_TOKEN: 's3cr3t-value' })
    const room = createToolRoom(test, { secrets })
    const headers = { authorization: 'Bearer ${secret:TOKEN}' } // eslint-disable-line no-template-curly-in-string
    const reply = await room.call(room.register(translate(server.address, 'Translate', { headers })), { text: 'x' })
    const failure = await room.call(room.register(translate(server.address, 'Fail', { headers })), { text: 'x' })
    assert.equal(server.calls[0]?.authorization, 'Bearer s3cr3t-value')
    assert.equal((reply.value as { token: string }).token, 'Bearer [secret]')
    assert.equal(failure.error?.message, 'answered with gRPC status 5: nothing for Bearer [secret]')
  })

  it('tells the server its deadline and cancels the call when the time is over', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    // Once connected and described, a call reaches the server long before its time is over, on a busy machine too.
    await room.call(room.register(translate(server.address, 'Translate')), { text: 'x' })
    const { error } = await room.call(room.register(translate(server.address, 'Hang', { timeout: 3000 })), { text: 'x' })
    assert.equal(error?.code, 'TIMEOUT')
    assert.ok(Number(server.calls[1]?.deadline) <= Date.now() + 3000)
    await until(() => server.hanging() === 0)
  })

  it('cancels the call when its caller leaves', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const leaving = new AbortController()
    const call = room.call(room.register(translate(server.address, 'Hang')), { text: 'x' }, leaving.signal)
    await until(() => server.hanging() === 1)
    leaving.abort()
    assert.equal((await call).error?.code, 'ABORTED')
    await until(() => server.hanging() === 0)
  })

  it('makes no call for a caller who has left before it could be made', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register(translate(server.address))
    const leaving = new AbortController()
    const given = room.call(tool, { text: 'x' }, leaving.signal)
    leaving.abort()
    assert.equal((await given).error?.code, 'ABORTED')
    await room.call(tool, { text: 'y' })
    assert.equal(server.calls.length, 1)
  })

  it('refuses a reply over the size limit', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const { error } = await room.call(room.register(translate(server.address, 'Huge')), { text: 'x' })
    assert.equal(error?.code, 'REPLY_TOO_LARGE')
  })

  it('refuses a reply that is not what its description says', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const proto = TRANSLATOR_PROTO.replace('string translated_text', 'Reply translated_text')
    const { error } = await room.call(room.register({ grpc: { url: server.address, method: METHOD, proto } }), { text: 'x' })
    assert.equal(error?.code, 'REPLY_INVALID')
  })

  it('refuses a reply that nests too deeply', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const proto = TRANSLATOR_PROTO.replaceAll('bytes blob', 'Nested blob').replace('message Request', 'message Nested { repeated Nested nested = 1; }\n$&')
    const tool = room.register({ grpc: { url: server.address, method: METHOD, proto } })
    const nested = (depth: number): JsonObject => depth === 0 ? {} : { nested: [nested(depth - 1)] }
    assert.equal((await room.call(tool, { blob: nested(40) })).outcome, 'ok')
    assert.equal((await room.call(tool, { blob: nested(60) })).error?.message, 'sent a reply that nests deeper than 100')
  })

  const wrongArguments: readonly [JsonObject, RegExp][] = [
    [{ txt: 'x' }, /arguments\.txt is no field of the request, which has text, request_id/],
    [{ glossary: 'x' }, /do not fit the request/],
    [{ request_id: 18446744073709551616n }, /do not fit the request: 18446744073709551616 does not fit into 64 bits/]
  ]
  for (const [values, message] of wrongArguments) {
    it(`refuses the arguments ${stringifyJson(values)}`, async test => {
      const server = await startGrpcToolServer(test)
      const room = createToolRoom(test)
      const { error } = await room.call(room.register(translate(server.address)), values)
      assert.equal(error?.code, 'ARGUMENTS_INVALID')
      assert.match(error?.message ?? '', message)
    })
  }

  it('refuses a streaming method', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const { error } = await room.call(room.register(translate(server.address, 'Stream')), { text: 'x' })
    assert.equal(error?.code, 'UNKNOWN_METHOD')
  })

  it('takes a proto that imports protobuf\'s own files', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    for (const file of ['any', 'descriptor', 'struct', 'type']) {
      const proto = TRANSLATOR_PROTO.replace('package', `import "google/protobuf/${file}.proto";\n$&`)
      const { error } = await room.call(room.register({ grpc: { url: server.address, method: METHOD, proto } }), { text: 'x' })
      assert.equal(error, undefined, file)
    }
  })

  it('reads no file that a proto imports', async test => {
    const room = createToolRoom(test)
    const proto = 'syntax = "proto3"; import "/etc/passwd"; package translate;'
    const { error } = await room.call(room.register({ grpc: { url: '127.0.0.1:1', method: METHOD, proto } }), {})
    assert.match(error?.message ?? '', /the proto imports "\/etc\/passwd"/)
  })

  it('recovers when its server comes back', async test => {
    const first = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register(translate(first.address, 'Translate', { breaker: false }))
    assert.equal((await room.call(tool, { text: 'x' })).outcome, 'ok')
    first.stop()
    assert.equal((await room.call(tool, { text: 'x' })).error?.code, 'UNREACHABLE')
    await startGrpcToolServer(test, { port: first.port })
    await until(async () => (await room.call(tool, { text: 'x' })).outcome === 'ok')
  })
})
