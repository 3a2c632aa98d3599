import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type NoticeKind } from '../../src/config/operator.ts'
import { createRedisSessionStore } from '../../src/session/store/redis-session-store.ts'
import { type SessionStore } from '../../src/session/store/session-store.ts'
import { type NoticeServer, SECRET, startNoticeServer } from '../helpers/notice-receiver.ts'
import { quietLog } from '../helpers/quiet-log.ts'
import { type RedisServer, startRedisServer } from '../helpers/redis-server.ts'
import { type JsonView } from '../helpers/service.ts'
import { type ServiceProcess, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { readAll } from '../session/store/session-appends.ts'

/** Each session asks four times, and ends: five notices, but for a few that a kill has interrupted. */
const [SESSIONS, ASKS, AT_ONCE] = [210, 4, 8]
const REPLIES = [...Array.from({ length: ASKS }, (_, step) => ({ last: `Step ${step + 1} of`, reply: `[CMD] echo ${step}` })), { last: 'Step', reply: '[DONE] Walked.' }]

/** When of all sessions so many have ended, a replica is killed: the one, then the other. */
const KILLS = [30, 80, 130, 180]

interface Place {
  readonly redis: RedisServer
  readonly receiver: NoticeServer
  start (): Promise<ServiceProcess>
}

async function placeOf (t: TestContext, kinds: readonly NoticeKind[]): Promise<Place> {
  const [folder, redis, receiver] = [await createTemporaryFolder(), await startRedisServer(), await startNoticeServer(t)]
  t.after(async () => {
    await redis.stop()
    await folder.remove()
  })
  await folder.write('shop/a', '')
  await folder.write('secret', SECRET)
  await folder.write('replies.yaml', JSON.stringify(REPLIES))
  await folder.write('operator.json', JSON.stringify({
    workspaces: { shop: { path: 'shop' } },
    targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } },
    notices: { ops: { url: receiver.url, secretFile: 'secret', kinds } }
  }))
  await redis.client.set('shenma:skills:walk', '---\nname: walk\ndescription: Walks.\nprotocol: text\n---\nWalk.')
  const at = (name: string): string => join(folder.path, name)
  return {
    redis,
    receiver,
    start: async () => await startProcess(t, {
      REDIS_URL: redis.url, STATE_DIR: at('state'), OPERATOR_FILE: at('operator.json'), SESSION_SECRET: 's'.repeat(32), PUBLIC_URL: 'http://127.0.0.1', LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), ALLOW_ROOT: 'true'
    })
  }
}

describe('Notices of two replicas over Redis', () => {
  it('reach their receiver at least once and in order for each session, a thousand of them, while replicas are killed', async t => {
    const { redis, receiver, start } = await placeOf(t, ['approval.waiting', 'session.failed', 'session.ended'])
    const failed = new Set<string>()
    receiver.answer = (reply, { id }) => {
      // Each twentieth is taken only when it comes again, and each fiftieth is taken without a word of it.
      const isFirst = !failed.has(id)
      const last = parseInt(id.slice(-4), 16)
      if (isFirst) failed.add(id)
      if (isFirst && last % 20 === 0) reply.writeHead(500).end()
      else if (isFirst && last % 50 === 1) reply.socket?.destroy()
      else reply.writeHead(204).end()
    }
    const replicas = [await start(), await start()]
    let [ended, kills] = [0, 0]
    const killing = async (): Promise<void> => {
      if (ended < (KILLS[kills] ?? Infinity)) return
      const index = kills++ % 2
      const process = replicas[index]?.process
      process?.kill('SIGKILL')
      if (process !== undefined) await once(process, 'exit')
      replicas[index] = await start()
    }
    const worker = async (index: number): Promise<void> => {
      for (let session = index; session < SESSIONS; session += AT_ONCE) {
        await walk(() => replicas.map(({ url }) => url).toSorted(() => Math.random() - 0.5))
        ended++
        await killing()
      }
    }
    await Promise.all(Array.from({ length: AT_ONCE }, (_, index) => worker(index)))
    assert.equal(kills, KILLS.length)

    const store = createRedisSessionStore({ url: redis.url, keep: 60_000, log: quietLog() })
    t.after(() => store.close())
    const expected = await expectedOf(store)
    const count = [...expected.values()].reduce((sum, each) => sum + each.length, 0)
    assert.ok(count >= 1000, String(count))
    await waitFor('all notices', () => new Set(receiver.received.map(({ id }) => id)).size >= count, 180_000)
    await waitFor('nothing to wait', async () => ((await get(replicas[0]?.url ?? '', '/api/notices'))['notices'] as unknown as readonly unknown[]).length === 0, 180_000)
    assert.deepEqual(receiver.refused, [])
    assert.deepEqual(toldIn(receiver), expected)
    t.diagnostic(`${count} notices in ${receiver.received.length} attempts`)
  })

  it('say that the store is lost, while it is, and that it is back', async t => {
    const { redis, receiver, start } = await placeOf(t, ['store.lost', 'store.back'])
    await start()
    await redis.kill()
    const typesOf = (): readonly unknown[] => receiver.received.map(({ body }) => body['type'])
    await waitFor('the loss', () => typesOf().includes('store.lost'))
    assert.deepEqual(typesOf(), ['store.lost'])
    await redis.restart()
    await waitFor('the return', () => typesOf().length === 2)
    const [lost, back] = receiver.received.map(({ body }) => body['data'])
    assert.deepEqual([typesOf()[1], back?.['since'], lost?.['store'], receiver.refused], ['store.back', lost?.['since'], 'registrations', []])
  })
})

/** Starts a session and allows all that it asks, at whichever replica answers, to its end. */
async function walk (urls: () => readonly string[]): Promise<void> {
  const ask = async (path: string, body?: object): Promise<JsonView> => {
    for (const url of urls()) {
      try {
        return body === undefined ? await get(url, path) : await post(url, path, body)
      } catch {
        // It was killed: perhaps the other one lives.
      }
    }
    return {}
  }
  let id: string | undefined
  await waitFor('a session to begin', async () => (id = (await ask('/api/skills/start', { terminalSessionId: 'here', skillId: 'walk' }))['data']?.['skillSessionId'] as string | undefined))
  await waitFor(`session ${id ?? ''} to end`, async () => {
    const { status, approvals } = await ask(`/api/sessions/${id ?? ''}`) as { readonly status?: string, readonly approvals?: ReadonlyArray<{ readonly id: string, readonly digest: string }> }
    const [approval] = approvals ?? []
    if (approval !== undefined) await ask(`/api/approvals/${approval.id}`, { decision: 'approve', digest: approval.digest })
    // The kill has interrupted a command, and somebody is asked about it.
    else if (status === 'waiting_input') await ask(`/api/sessions/${id ?? ''}/cancel`, {})
    return ['completed', 'cancelled', 'failed', 'expired'].includes(status ?? '')
  }, 120_000)
}

/** By session, from its log: what it asked, and that it ended. */
async function expectedOf (store: SessionStore): Promise<ReadonlyMap<string, readonly string[]>> {
  const expected = new Map<string, readonly string[]>()
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const { heads, next } = await store.list({ limit: 200, ...cursor === undefined ? {} : { cursor } })
    for (const { id } of heads) {
      expected.set(id, (await readAll(store, id)).flatMap(({ held, notices }) => [
        ...held.map(({ effect }) => `approval.waiting ${id}:${effect.id}`),
        ...notices.filter(({ type }) => type === 'done').map(({ data }) => `session.${data['status'] === 'failed' ? 'failed' : 'ended'} undefined`)
      ]))
    }
    cursor = next
  }
  return new Map([...expected].toSorted())
}

/** By session, in the order in which each notice first arrived. */
function toldIn ({ received }: NoticeServer): ReadonlyMap<string, readonly string[]> {
  const told = new Map<string, string[]>()
  const seen = new Set<string>()
  for (const { id, body } of received) {
    if (seen.has(id)) continue
    seen.add(id)
    const session = String(body['data']?.['session'])
    told.set(session, [...told.get(session) ?? [], `${String(body['type'])} ${String(body['data']?.['approval'])}`])
  }
  return new Map([...told].toSorted())
}

async function get (url: string, path: string): Promise<JsonView> {
  return await (await fetch(`${url}${path}`)).json() as JsonView
}

async function post (url: string, path: string, body: object): Promise<JsonView> {
  return await (await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json() as JsonView
}
