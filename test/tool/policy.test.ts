import assert from 'node:assert/strict'
import { type ServerResponse } from 'node:http'
import { describe, it } from 'node:test'
import { isToolResult, NOTHING } from '../../src/template/value.ts'
import { valueForRender } from '../../src/tool/registered-tool.ts'
import { startGrpcToolServer, TRANSLATOR_PROTO } from '../helpers/grpc-tool-server.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom, until } from './tool-room.ts'

const json = (response: ServerResponse, value: unknown, status = 200) => response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))

/** A behaviour that fails a few times first. */
function failing (times: number) {
  let left = times
  return { '/flaky': (response: ServerResponse) => left-- > 0 ? json(response, {}, 503) : json(response, 'fine') }
}

describe('retries', () => {
  const cases: readonly [title: string, restful: object, extra: object, failures: number, requests: number, outcome: string][] = [
    ['repeats a GET', { method: 'GET' }, { retries: 2 }, 2, 3, 'ok'],
    ['repeats a POST that is idempotent', { method: 'POST' }, { retries: 2, idempotent: true }, 2, 3, 'ok'],
    ['does not repeat a POST', { method: 'POST' }, { retries: 2 }, 2, 1, 'failed'],
    ['does not repeat a DELETE', { method: 'DELETE' }, { retries: 2 }, 2, 1, 'failed'],
    ['does not repeat without being told to', { method: 'GET' }, {}, 1, 1, 'failed'],
    ['gives up after the last retry', { method: 'GET' }, { retries: 1 }, 5, 2, 'failed']
  ]
  for (const [title, restful, extra, failures, requests, expected] of cases) {
    it(title, async test => {
      const server = await startRestfulToolServer(test, failing(failures))
      const room = createToolRoom(test)
      const { outcome } = await room.call(room.register({ restful: { url: `${server.origin}/flaky`, ...restful }, ...extra }))
      assert.deepEqual([outcome, server.requests.length], [expected, requests])
    })
  }

  for (const path of ['/404', '/bad-json', '/redirect']) {
    it(`does not repeat what will not change: ${path}`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      await room.call(room.register({ restful: { url: server.origin + path, method: 'GET' }, retries: 3 }))
      assert.equal(server.requests.length, 1)
    })
  }

  it('ends with the timeout of the whole call', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ restful: { url: `${server.origin}/503`, method: 'GET' }, retries: 5, timeout: 60 }))
    assert.equal(error?.code, 'TIMEOUT')
  })
})

describe('result cache', () => {
  it('answers equal arguments without asking, in whatever order they are given', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/echo`, cacheTtl: 60_000 })
    const first = await room.call(tool, { a: 1, b: 2 })
    const second = await room.call(tool, { b: 2, a: 1 })
    assert.deepEqual([first.outcome, second.outcome, server.requests.length], ['ok', 'cached', 1])
    assert.equal(second.value, first.value)
  })

  it('asks for other arguments', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/echo`, cacheTtl: 60_000 })
    await room.call(tool, { a: 1 })
    assert.equal((await room.call(tool, { a: 2 })).outcome, 'ok')
  })

  it('keeps no failures', async test => {
    const server = await startRestfulToolServer(test, failing(1))
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/flaky`, cacheTtl: 60_000 })
    const outcomes = [await room.call(tool), await room.call(tool), await room.call(tool)]
    assert.deepEqual(outcomes.map(({ outcome }) => outcome), ['failed', 'ok', 'cached'])
  })

  it('stays within its bytes', async test => {
    const server = await startRestfulToolServer(test, { '/': response => json(response, 'x'.repeat(600)) })
    const room = createToolRoom(test, {}, { maxCache: 1000 })
    const tool = room.register({ url: server.origin, cacheTtl: 60_000 })
    for (const a of [1, 2, 1]) await room.call(tool, { a })
    assert.equal(server.requests.length, 3)
  })
})

describe('circuit breaker', () => {
  it('stops asking after too many failures, and asks again after its cool-down', async test => {
    const server = await startRestfulToolServer(test, failing(2))
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/flaky`, breaker: { minimumCalls: 2, coolDown: 20 } })
    for (let index = 0; index < 2; index++) await room.call(tool)
    assert.equal((await room.call(tool)).error?.code, 'BREAKER_OPEN')
    assert.equal(server.requests.length, 2)
    await until(async () => (await room.call(tool)).outcome === 'ok')
    assert.equal(server.requests.length, 3)
  })

  it('stays closed for what is not the server\'s trouble', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/404`, breaker: { minimumCalls: 1 } })
    for (let index = 0; index < 3; index++) assert.equal((await room.call(tool)).error?.code, 'STATUS')
  })

  it('opens for a tool that hangs', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/hang`, timeout: 20, breaker: { minimumCalls: 1, coolDown: 60_000 } })
    await room.call(tool)
    assert.equal((await room.call(tool)).error?.code, 'BREAKER_OPEN')
  })

  it('can be switched off', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/503`, breaker: false })
    for (let index = 0; index < 10; index++) await room.call(tool)
    assert.equal(server.requests.length, 10)
  })
})

describe('concurrency', () => {
  for (const [concurrency, expected] of [[undefined, 64], [3, 3]] as const) {
    it(`makes ${expected} calls at a time when the registration says ${String(concurrency)}`, async test => {
      const waiting: ServerResponse[] = []
      const server = await startRestfulToolServer(test, { '/': response => waiting.push(response) })
      const room = createToolRoom(test)
      const tool = room.register({ url: server.origin, ...(concurrency === undefined ? {} : { concurrency }) })
      const calls = Array.from({ length: 80 }, (_call, index) => room.call(tool, { index }))
      await until(() => waiting.length === expected)
      let answered = 0
      while (answered < 80) {
        await until(() => waiting.length > answered)
        assert.ok(waiting.length - answered <= expected)
        json(waiting[answered++] as ServerResponse, 'done')
      }
      assert.deepEqual((await Promise.all(calls)).map(({ outcome }) => outcome), Array(80).fill('ok'))
    })
  }
})

describe('what stands in for a failed call', () => {
  const cases: readonly [title: string, extra: object, value: unknown][] = [
    ['the default of the registration', { default: { a: [1] }, returns: { type: 'string', default: 'of returns' } }, { a: [1] }],
    ['the default of returns', { returns: { type: 'string', default: 'of returns' } }, 'of returns'],
    ['a default of null', { default: null, returns: { default: 'of returns', type: 'string' } }, null],
    ['nothing without a default', {}, NOTHING],
    ['nothing with onError: empty', { default: 'x', onError: 'empty' }, NOTHING]
  ]
  for (const [title, extra, expected] of cases) {
    it(`is ${title}`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      const outcome = await room.call(room.register({ url: `${server.origin}/500`, ...extra }))
      assert.deepEqual(valueForRender('tool', outcome), expected)
      if (typeof expected === 'object' && expected !== null && expected !== NOTHING) assert.ok(isToolResult(outcome.value as object))
    })
  }

  it('is the end of the render with onError: abort', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const outcome = await room.call(room.register({ url: `${server.origin}/500`, onError: 'abort' }))
    assert.throws(() => valueForRender('test_tool', outcome), { code: 'TOOL_FAILED', statusCode: 502, message: 'Tool "test_tool" failed, and its registration ends the render then: answered with status 500: {"error":"broken"}' })
  })
})

describe('returns', () => {
  const returns = { type: 'object', properties: { method: { type: 'integer' } } }

  it('is logged and used when the result violates it', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const { outcome, value } = await room.call(room.register({ url: `${server.origin}/echo`, returns }))
    assert.deepEqual([outcome, (value as { method: string }).method], ['ok', 'POST'])
    assert.deepEqual(room.warnings, [{ tool: 'test.tool', requestId: 'request-1', violations: 'result.method must be integer' }])
  })

  it('fails the call with strictReturns', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const { error } = await room.call(room.register({ url: `${server.origin}/echo`, returns, strictReturns: true }))
    assert.deepEqual([error?.code, error?.message], ['RETURNS_INVALID', 'result.method must be integer'])
  })
})

describe('arguments of a call', () => {
  it('are checked before anything is sent', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/echo`, parameters: { type: 'object', properties: { code: { type: 'string' } }, required: ['code'] } })
    const { error } = await room.call(tool, { code: 1 })
    assert.deepEqual([error?.code, error?.message, server.requests.length], ['ARGUMENTS_INVALID', 'arguments.code must be string', 0])
  })
})

describe('statistics', () => {
  it('count calls, cached ones, errors and latency', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ url: `${server.origin}/echo`, cacheTtl: 60_000, parameters: [{ name: 'a', type: 'integer' }] })
    for (const a of [1, 1, 2, 'x']) await room.call(tool, { a })
    const { latency, lastError, ...counts } = tool.statistics()
    assert.deepEqual(counts, { calls: 4, cached: 1, errors: 1 })
    assert.equal(lastError?.message, 'arguments.a must be integer')
    assert.ok(latency !== undefined && latency.p50 > 0 && latency.max >= latency.p50)
  })

  it('hold nothing of what a tool said to one of its callers', async test => {
    const server = await startGrpcToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ grpc: { url: server.address, method: 'translate.Translator/Fail', proto: TRANSLATOR_PROTO } })
    const { error } = await room.call(tool, { text: 'x' })
    assert.deepEqual([error?.message, tool.statistics().lastError?.message], ['answered with gRPC status 5: nothing for undefined', 'answered with gRPC status 5'])
  })
})
