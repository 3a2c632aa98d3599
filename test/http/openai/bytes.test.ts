import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request as httpRequest } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import fc from 'fast-check'
import { property } from '../../helpers/property.ts'
import { startService } from '../../helpers/service.ts'
import { shared } from '../../helpers/shared.ts'
import { createTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { completion, sendCompletionStream, sendJson, startUpstream } from '../../helpers/upstream-server.ts'

const PROVIDERS = (baseUrl: string) => JSON.stringify({
  providers: [
    { name: 'failing', baseUrl, models: ['down'], aliases: { 'als"o': 'down' } },
    { name: 'other', baseUrl, models: ['real', 'spare'], aliases: { alias: 'real' } },
    { name: 'rest', baseUrl }
  ]
})

const started = shared(async suite => {
  const upstream = await startUpstream((hit, response) => {
    if (hit.body.includes('"down"')) return sendJson(response, 400 + 101, { error: { message: 'down' } })
    if (/"stream"\s*:\s*true/.test(hit.body)) return sendCompletionStream(response, ['Hi'])
    sendJson(response, 200, completion('Hi', { data: [] }))
  })
  suite.after(() => upstream.close())
  const folder = await createTemporaryFolder()
  suite.after(folder.remove)
  await folder.write('providers.json', PROVIDERS(upstream.baseUrl))
  const service = await startService(suite, { 'templates:greet': { userPrompt: 'Hello', defaults: { model: 'm' } } }, { LLM_PROVIDERS_FILE: join(folder.path, 'providers.json'), LLM_FALLBACKS: 'spare', LOG_LEVEL: 'silent' })
  const sent = async (body: string | Buffer, url = '/v1/chat/completions', headers = {}) => {
    const before = upstream.hits.length
    const reply = await service.app.inject({ method: 'POST', url, payload: body, headers: { 'content-type': 'application/json', ...headers } })
    return { status: reply.statusCode, text: reply.body, bodies: upstream.hits.slice(before).map(hit => hit.body) }
  }
  return { ...service, sent, hits: upstream.hits, origin: await service.listen() }
})

const LONG = 'é"\\😀\u2028'.repeat(50_000)

const unchanged: ReadonlyArray<readonly [what: string, body: string]> = [
  ['blanks and line ends', ' \r\n\t{ "model" : "m" ,\r\n"messages":[ ] , "stream" :false }\n '],
  ['numbers', '{"model":"m","seed":12345678901234567890,"temperature":1.0,"top_p":1E-0,"n":-0,"x":[0.10,1e2,1.7976931348623157e308]}'],
  ['escapes, also of half a character', '{"mod\\u0065l":"m\\u0061\\/","messages":[{"role":"user","content":"\\ud800 \\u0000"}]}'],
  ['characters of all lengths', '{"model":"m","messages":[{"role":"user","content":"aé€😀\u2028\u007f"}],"ключ":"значение"}'],
  ['members of inner objects that are there twice', '{"model":"m","metadata":{"a":1,"a":2}}'],
  ['a stream with its options', '{"stream_options":{"include_usage":true},"stream":true,"model":"m","messages":[{"content":"x","role":"user"}]}'],
  ['tools', '{"model":"m","tools":[ {"type":"function","function":{"name":"f"}}],"tool_choice":"auto","parallel_tool_calls":null}'],
  ['names that objects inherit', '{"model":"m","constructor":{"prototype":1},"toString":"x"}'],
  ['a model that is named last', `{"messages":[{"role":"user","content":${JSON.stringify(LONG)}}],"model":"m"}`],
  ['a limit of tokens that is null', '{"model":"m","max_tokens":null,"max_completion_tokens":5}']
]

const spliced: ReadonlyArray<readonly [what: string, body: string, expected: string]> = [
  ['the model that an alias stands for', '{ "n" : 1.0, "model" : "alias" , "seed":12345678901234567890 }', '{ "n" : 1.0, "model" : "real" , "seed":12345678901234567890 }'],
  ['members of its own that are null, with a comma each', '{ "prompt":null, "model":"m" ,"n":1.0, "fallbacks" : null}', '{ "model":"m" ,"n":1.0}'],
  ['options of a stream that is none', '{"model":"m","stream_options":{"include_usage":true},"stream":false}', '{"model":"m","stream":false}'],
  ['the second limit of tokens', '{"max_tokens":1.0,"max_completion_tokens":2.0,"model":"m"}', '{"max_completion_tokens":2.0,"model":"m"}'],
  ['options of tools that are none', '{"model":"m","tools":[ ],"tool_choice":"auto","n":1.0,"parallel_tool_calls":true}', '{"model":"m","n":1.0}'],
  ['a byte order mark', '\ufeff{"model":"m"}', '{"model":"m"}']
]

describe('A request to a model', () => {
  for (const [what, body] of unchanged) {
    it(`goes on byte for byte: ${what}`, async () => {
      const { sent } = await started()
      const { status, bodies } = await sent(body)
      assert.deepEqual({ status, bodies }, { status: 200, bodies: [body] })
    })
  }

  for (const [what, body, expected] of spliced) {
    it(`goes on without, or with another of, one member: ${what}`, async () => {
      const { sent } = await started()
      const { status, bodies } = await sent(body)
      assert.deepEqual({ status, bodies }, { status: 200, bodies: [expected] })
    })
  }

  it('goes on with the model of each fallback, and all else as it came', async () => {
    const { sent } = await started()
    const { bodies } = await sent('{"n":1.0,"model":"als\\"o","seed":12345678901234567890}')
    assert.deepEqual(bodies.at(-1), '{"n":1.0,"model":"spare","seed":12345678901234567890}')
    assert.deepEqual(bodies.at(0), '{"n":1.0,"model":"down","seed":12345678901234567890}')
  })

  for (const [body, expected] of [['{"input":[1.0]}', '{"input":[1.0],"model":"set"}'], ['{}', '{"model":"set"}'], ['{"model": null }', '{"model": "set" }'], ['{"model":"own","input":1.0}', '{"model":"own","input":1.0}']] as const) {
    it(`for embeddings goes on with the configured model where it names none: ${body}`, async t => {
      const upstream = await startUpstream((_hit, response) => sendJson(response, 200, { data: [] }))
      t.after(() => upstream.close())
      const { app } = await startService(t, {}, { LLM_BASE_URL: upstream.baseUrl, LLM_EMBEDDING_MODEL: 'set' })
      await app.inject({ method: 'POST', url: '/v1/embeddings', payload: body, headers: { 'content-type': 'application/json' } })
      assert.deepEqual(upstream.hits.map(hit => hit.body), [expected])
    })
  }

  property('of any members goes on byte for byte', 1000, async given => {
    const { sent } = await started()
    const name = fc.string({ unit: 'binary' }).filter(each => !/__proto__|^(?:prompt|variables|fallbacks|messages|stream|tool|maxInput|parallel)/.test(each))
    const body = fc.tuple(fc.dictionary(name, fc.jsonValue(), { noNullPrototype: true }), fc.nat(3))
    await given.comesToHold(fc.asyncProperty(body, async ([members, indent]) => {
      const text = JSON.stringify({ ...members, model: 'm', messages: [{ role: 'user', content: members }] }, null, indent).toWellFormed()
      assert.deepEqual((await sent(text)).bodies, [text])
    }))
  })

  const deep = `${'['.repeat(100)}${']'.repeat(100)}`
  const refused: ReadonlyArray<readonly [what: string, body: string | Buffer, words: RegExp]> = [
    ['a member twice', '{"model":"a","messages":[],"model":"b"}', /body: model is there more than once/],
    ['a member twice, once escaped', '{"model":"a","mod\\u0065l":"b"}', /body: model is there more than once/],
    ['a member of another name twice, with a prompt', '{"model":"prompt:greet","n":1,"n":2}', /body: n is there more than once/],
    ['a prototype', '{"model":"m","metadata":{"a":[{"__proto__":{}}]}}', /the key \\"__proto__\\" is not allowed/],
    ['a prototype that is escaped', '{"model":"m","\\u005f_proto__":{}}', /the key \\"__proto__\\" is not allowed/],
    ['more depth than is read', `{"model":"m","x":${deep}}`, /nested deeper than 100/],
    ['half a character', Buffer.from('{"model":"m","x":"\xc3"}', 'latin1'), /The body is not valid UTF-8/],
    ['an end that is missing', '{"model":"m","messages":[{"role":"user","content":"Hi', /The body is not valid JSON: .* at line 1/],
    ['two values', '{"model":"m"} {}', /The body is not valid JSON/],
    ['a number beyond doubles', '{"model":"m","n":1e400}', /1\.8e308 is the most/],
    ['a control character', '{"model":"m\u0001"}', /The body is not valid JSON/],
    ['a message without a role', '{"model":"m","messages":[{"role":"user"},{"content":"x"}]}', /messages\.1 needs .*role/],
    ['messages that are none', '{"model":"m","messages":{}}', /body: messages/],
    ['more messages than may be', `{"model":"m","messages":[${Array(1001).fill('{"role":"user"}').join()}]}`, /body: messages/],
    ['a model that is none', '{"model":7}', /body: model/],
    ['a stream that is none', '{"model":"m","stream":"yes"}', /body: stream/],
    ['what publishers set', '{"model":"m","toolLoop":{}}', /body: toolLoop is set by the prompt/],
    ['fallbacks that are none', '{"model":"m","fallbacks":[7]}', /body: fallbacks/],
    ['a list', '[]', /body must be/],
    ['a mistake behind megabytes', `{"model":"m","x":"${'é'.repeat(1_000_000)}" 1}`, /The body is not valid JSON: .* at line 1, column 1000021/]
  ]
  for (const [what, body, words] of refused) {
    it(`is refused, and nothing goes on: ${what}`, async () => {
      const { sent } = await started()
      const { status, text, bodies } = await sent(body)
      assert.deepEqual({ status, bodies }, { status: 400, bodies: [] })
      assert.match(text, words)
    })
  }

  it('is refused where it is compressed', async () => {
    const { sent } = await started()
    const { status, text, bodies } = await sent('{}', '/v1/chat/completions', { 'content-encoding': 'gzip' })
    assert.deepEqual({ status, bodies }, { status: 415, bodies: [] })
    assert.match(text, /Compressed bodies are not taken/)
  })

  it('names no endless model in a refusal', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    await folder.write('p.json', '{"providers":[{"name":"a","baseUrl":"http://127.0.0.1:1","models":["m"]}]}')
    const { post } = await startService(t, {}, { LLM_PROVIDERS_FILE: join(folder.path, 'p.json') })
    const { status, json } = await post('/v1/chat/completions', { model: 'x'.repeat(100_000), messages: [] })
    assert.equal(status, 404)
    assert.ok(JSON.stringify(json).length < 2000)
  })
})

describe('A large body', () => {
  it('reaches a model by each of its paths, while others keep to their own limit', async () => {
    const { sent, post } = await started()
    const content = 'x'.repeat(3_000_000)
    const message = { role: 'user', content }
    for (const [url, body] of [
      ['/v1/chat/completions', { model: 'm', messages: [message] }], ['/v1/responses', { model: 'm', input: content }], ['/v1/embeddings', { model: 'm', input: content }],
      ['/v1/chat/completions', { model: 'prompt:greet', messages: [message] }], ['/api/chat/prompts/greet', { model: 'm', messages: [message] }], ['/api/prompts/greet/chat', { model: 'm', messages: [message] }]
    ] as const) {
      const { status, bodies } = await sent(JSON.stringify(body), url)
      assert.deepEqual([status, bodies.length, bodies[0]?.includes(content)], [200, 1, true], url)
    }
    const { status, json } = await post('/api/render/prompts/greet', { variables: { content } })
    assert.equal(status, 413)
    assert.match(String(json['message']), /larger than 1048576 bytes, the most that BODY_LIMIT_BYTES/)
  })

  it('is refused beyond the limit, with or without a length', async t => {
    const service = await startService(t, {}, { LLM_BASE_URL: 'builtin:echo', CHAT_BODY_LIMIT_BYTES: '2048' })
    const origin = await service.listen()
    for (const headers of [{ 'content-length': '3000' }, { 'transfer-encoding': 'chunked' }]) {
      const sending = httpRequest(`${origin}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json', ...headers } })
      sending.on('error', () => {}).write(Buffer.alloc(2500, ' '))
      const [response] = await once(sending, 'response') as [IncomingMessage]
      const text = Buffer.concat(await response.toArray() as Buffer[]).toString()
      assert.equal(response.statusCode, 413)
      assert.match(text, /larger than 2048 bytes, the most that CHAT_BODY_LIMIT_BYTES of this service allows/)
      sending.destroy()
    }
  })

  it('without a length goes on byte for byte, however it is cut', async () => {
    const { origin, hits } = await started()
    const body = `{"model":"alias","messages":[{"role":"user","content":${JSON.stringify(LONG)}}]}`
    const sending = httpRequest(`${origin}/v1/chat/completions`, { method: 'POST', headers: { 'content-type': 'application/json' } })
    const bytes = Buffer.from(body)
    for (let at = 0; at < bytes.length; at += 50_001) sending.write(bytes.subarray(at, at + 50_001))
    sending.end()
    const [response] = await once(sending, 'response') as [IncomingMessage]
    response.resume()
    assert.equal(response.statusCode, 200)
    assert.ok(hits.at(-1)?.body === body.replace('alias', 'real'))
  })

  it('beyond what an API takes is refused in its words, once, also where it has not read the body', async t => {
    let asked = 0
    const upstream = createServer((request, response) => {
      asked++
      request.on('error', () => {})
      response.writeHead(413, { 'content-type': 'application/json', connection: 'close' }).end('{"error":{"message":"too large for us"}}')
    }).listen(0, '127.0.0.1')
    await once(upstream, 'listening')
    t.after(() => upstream.close())
    const { post } = await startService(t, {}, { LLM_BASE_URL: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1` })
    const { status, json } = await post('/v1/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'x'.repeat(5_000_000) }] })
    assert.deepEqual({ status, json, asked }, { status: 413, json: { error: { message: 'too large for us' } }, asked: 1 })
  })

  const cut: ReadonlyArray<readonly [what: string, length: number, words: RegExp]> = [
    ['ends before its length', 1000, /^HTTP\/1\.1 400 .*The request cannot be read as HTTP\/1\.1/s],
    ['goes on behind its length', 20, /^HTTP\/1\.1 400 .*(?:The body is not valid JSON|does not begin with a method)/s]
  ]
  for (const [what, length, words] of cut) {
    it(`that ${what} is refused, and nothing goes on`, async () => {
      const { origin, hits } = await started()
      const before = hits.length
      const socket = connect(Number(new URL(origin).port), '127.0.0.1')
      socket.end(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n{"model":"m","messages":[]}`)
      const text = Buffer.concat(await socket.toArray() as Buffer[]).toString()
      assert.match(text, words)
      assert.equal(hits.length, before)
    })
  }
})
