import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { ANYONE } from '../../../../src/access/caller.ts'
import { type JsonObject } from '../../../../src/base/json.ts'
import { type Generation } from '../../../../src/registry/generation.ts'
import { callToolsOf, isRepeatableTool } from '../../../../src/service/sessions/performer.ts'
import { type Outcome } from '../../../../src/session/effects.ts'
import { type Session } from '../../../../src/session/session.ts'
import { startRestfulToolServer } from '../../../helpers/restful-tool-server.ts'
import { createToolRoom } from '../../../tool/tool-room.ts'

/** Makes one call for a session, of a tool that is all that is registered. */
async function call (t: TestContext, registration: JsonObject, timeout = 10_000): Promise<Outcome> {
  const room = createToolRoom(t)
  const callable = room.register(registration)
  const generation = { tools: new Map([['test.tool', { definition: callable.definition, callable }]]), prompts: new Map() } as unknown as Generation
  const perform = callToolsOf({ generation }, room.caller)
  const effect = { id: '2.0', kind: 'tool', tool: 'test.tool', arguments: {}, timeout } as const
  return await perform({ session: { id: 's1' } as Session, effect, caller: ANYONE, signal: new AbortController().signal, activity: undefined, publish: () => {} })
}

describe('whether a tool may be called again', () => {
  const cases: ReadonlyArray<readonly [title: string, registration: JsonObject, expected: boolean]> = [
    ['a GET may', { restful: { url: 'http://127.0.0.1:1/', method: 'GET' } }, true],
    ['a POST may not', { restful: { url: 'http://127.0.0.1:1/', method: 'POST' }, retries: 2 }, false],
    ['an idempotent POST may, without retries too', { restful: { url: 'http://127.0.0.1:1/', method: 'POST' }, idempotent: true }, true],
    ['a DELETE may not', { restful: { url: 'http://127.0.0.1:1/', method: 'DELETE' } }, false]
  ]
  for (const [title, registration, expected] of cases) {
    it(title, t => {
      const definition = createToolRoom(t).define(registration)
      assert.equal(isRepeatableTool({ tools: new Map([['test.tool', { definition }]]) } as unknown as Generation, 'test:tool'), expected)
    })
  }
})

describe('a call that a session makes', () => {
  const cases: ReadonlyArray<readonly [title: string, path: string, more: JsonObject, expected: string]> = [
    ['is unknown when no answer comes in time', '/hang', {}, 'unknown'],
    ['is unknown when the connection is lost', '/reset', {}, 'unknown'],
    ['is unknown when the answer cannot be read', '/bad-json', {}, 'unknown'],
    ['has failed when no answer comes in time, and it may be made again', '/hang', { idempotent: true }, 'failure'],
    ['has failed when the tool says so', '/503', {}, 'failure']
  ]
  for (const [title, path, more, expected] of cases) {
    it(title, async t => {
      const { origin } = await startRestfulToolServer(t)
      assert.equal((await call(t, { restful: { url: origin + path, method: 'POST' }, ...more }, 200)).kind, expected)
    })
  }

  it('has failed when nobody listens: nothing was sent', async t => {
    const { kind } = await call(t, { restful: { url: 'http://127.0.0.1:1/', method: 'POST' } })
    assert.equal(kind, 'failure')
  })

  it('has the same Idempotency-Key when it is made again', async t => {
    const { origin, requests } = await startRestfulToolServer(t)
    await call(t, { restful: { url: `${origin}/echo`, method: 'POST' } })
    await call(t, { restful: { url: `${origin}/echo`, method: 'POST' } })
    assert.deepEqual(requests.map(({ headers }) => headers['idempotency-key']), ['s1:2.0', 's1:2.0'])
  })
})
