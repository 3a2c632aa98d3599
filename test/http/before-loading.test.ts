import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { pino } from 'pino'
import { createApp } from '../../src/app.ts'
import { loadConfig } from '../../src/config/config.ts'
import { createMemoryStore } from '../helpers/memory-store.ts'

const ASKED: ReadonlyArray<readonly [method: 'GET' | 'POST', url: string, payload?: object]> = [
  ['GET', '/api/extensions/x'],
  ['GET', '/api/prompts/x'],
  ['GET', '/api/prompts/x/needs'],
  ['GET', '/api/prompts/x/used-by'],
  ['GET', '/api/environs/x'],
  ['GET', '/api/environs/x/used-by'],
  ['GET', '/api/tools/x'],
  ['GET', '/api/tools/x/used-by'],
  ['POST', '/api/tools/x/call'],
  ['POST', '/api/render/prompts/x'],
  ['POST', '/api/chat/prompts/x']
]

describe('before the store was read for the first time', () => {
  it('nothing is said to be missing', async t => {
    const { ask } = await startUnread(t)
    for (const asked of ASKED) assert.deepEqual(await ask(...asked), [503, 'STORE_UNAVAILABLE'], asked.join(' '))
  })

  it('nothing is linted, since every tool and partial would be unknown', async t => {
    const { ask } = await startUnread(t)
    assert.deepEqual(await ask('POST', '/api/lint', { template: '{{m_tool}}' }), [503, 'STORE_UNAVAILABLE'])
  })
})

describe('once the store was read', () => {
  it('what is not there is missing', async t => {
    const { ask, read } = await startUnread(t)
    await read()
    for (const asked of ASKED) assert.equal((await ask(...asked))[0], 404, asked.join(' '))
    assert.deepEqual(await ask('POST', '/api/lint', { template: '{{m_tool}}' }), [200, undefined])
  })
})

/** A service whose store is out of reach from the start. */
async function startUnread (t: TestContext) {
  const store = createMemoryStore()
  store.setProblem('out of reach')
  const app = await createApp(loadConfig({ STORE_DIR: 'unused', LLM_BASE_URL: 'builtin:echo' }), pino({ level: 'silent' }), { store })
  t.after(() => app.close())
  return {
    ask: async (method: 'GET' | 'POST', url: string, payload?: object) => {
      const reply = await app.inject({ method, url, ...(payload === undefined ? {} : { payload }) })
      return [reply.statusCode, reply.json<{ code?: string }>().code] as const
    },
    read: async () => {
      store.setProblem(undefined)
      assert.equal((await app.inject({ method: 'POST', url: '/api/status/reload' })).statusCode, 200)
    }
  }
}
