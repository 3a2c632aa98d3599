import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { createBaseUrls, parseBaseUrls } from '../../src/tool/operator.ts'
import { type Json } from '../../src/base/json.ts'
import { isToolResult } from '../../src/template/value.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { createToolRoom } from './tool-room.ts'

describe('restful tool', () => {
  it('sends a JSON body with POST in the flat form', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    const tool = room.register({ type: 'restful', url: `${server.origin}/echo` })
    const { outcome, value } = await room.call(tool, { code: 'x', n: 12345678901234567890n })
    assert.equal(outcome, 'ok')
    assert.equal(server.requests[0]?.method, 'POST')
    assert.equal(server.requests[0]?.body, '{"code":"x","n":12345678901234567890}')
    assert.equal(server.requests[0]?.headers['content-type'], 'application/json')
    assert.ok(isToolResult(value as object))
  })

  for (const method of ['PUT', 'PATCH']) {
    it(`sends a JSON body with ${method}`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      await room.call(room.register({ restful: { url: `${server.origin}/echo`, method } }), { a: 1 })
      assert.deepEqual([server.requests[0]?.method, server.requests[0]?.body], [method, '{"a":1}'])
    })
  }

  for (const method of ['GET', 'DELETE']) {
    it(`sends a query string with ${method}`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      await room.call(room.register({ restful: { url: `${server.origin}/echo?fixed=1`, method } }), { q: 'a b&c', list: [1, 2], object: { a: 1 }, none: null, yes: true })
      assert.equal(server.requests[0]?.method, method)
      assert.equal(server.requests[0]?.body, '')
      assert.equal(server.requests[0]?.url, '/echo?fixed=1&q=a+b%26c&list=1&list=2&object=%7B%22a%22%3A1%7D&yes=true')
    })
  }

  it('fills placeholders percent-encoded and sends them nowhere else', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    await room.call(room.register({ restful: { url: `${server.origin}/users/{id}/x`, method: 'GET' } }), { id: 'a/b?c#d ü', q: 1 })
    assert.equal(server.requests[0]?.url, '/users/a%2Fb%3Fc%23d%20%C3%BC/x?q=1')
  })

  it('encodes what its url writes in other letters', async test => {
    const server = await startRestfulToolServer(test)
    const room = createToolRoom(test)
    await room.call(room.register({ restful: { url: `${server.origin}/翻译/{名}%20é?q=译`, method: 'GET' } }), { 名: '书' })
    assert.equal(server.requests[0]?.url, `/${encodeURI('翻译/书')}%20%C3%A9?q=${encodeURI('译')}`)
  })

  const misfits: readonly [id: Json, message: string][] = [
    ['..', 'an argument would make a "." or ".." of a path segment'],
    ['.', 'an argument would make a "." or ".." of a path segment'],
    ['', 'arguments.id must not be empty, since it is part of the URL'],
    [null, 'arguments.id must be a text or a number, since it is part of the URL'],
    [{ a: 1 }, 'arguments.id must be a text or a number, since it is part of the URL'],
    [['..'], 'arguments.id must be a text or a number, since it is part of the URL']
  ]
  for (const [id, message] of misfits) {
    it(`refuses ${JSON.stringify(id)} in a placeholder`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      const { error } = await room.call(room.register({ restful: { url: `${server.origin}/users/{id}/x`, method: 'GET' } }), { id })
      assert.deepEqual([error?.code, error?.message], ['ARGUMENTS_INVALID', message])
      assert.equal(server.requests.length, 0)
    })
  }

  const replies: readonly [path: string, extra: object, value: unknown][] = [
    ['/big-integer', {}, { id: 12345678901234567890n }],
    ['/text', {}, 'plain "text" – ü'],
    ['/gbk', {}, '你好'],
    ['/json-as-text', {}, '{"a":1}'],
    ['/json-as-text', { returns: { type: 'object' } }, { a: 1 }],
    ['/identity', {}, []],
    ['/empty', {}, null]
  ]
  for (const [path, extra, value] of replies) {
    it(`reads the reply of ${path} ${JSON.stringify(extra)}`, async test => {
      const server = await startRestfulToolServer(test)
      const room = createToolRoom(test)
      const outcome = await room.call(room.register({ url: server.origin + path, ...extra }))
      assert.deepEqual([outcome.outcome, outcome.value], ['ok', value])
    })
  }

  it('appends a relative url to the base URL of its module', async test => {
    const server = await startRestfulToolServer(test)
    const baseUrls = createBaseUrls({ byModule: parseBaseUrls(`translator=${server.origin}/api/`), modules: { has: () => false, get: async () => undefined } })
    const room = createToolRoom(test, { baseUrls })
    await room.call(room.register({ module: 'translator', url: '/translate/zh/en' }))
    assert.equal(server.requests[0]?.url, '/api/translate/zh/en')
  })
})
