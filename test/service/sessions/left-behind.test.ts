import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { access, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { loadConfig } from '../../../src/config/config.ts'
import { ENGINES } from '../../../src/engine/engines.ts'
import { makePrivateFolder } from '../../../src/base/durable-files.ts'
import { Journal } from '../../../src/files/change/journal.ts'
import { parseAgent } from '../../../src/registry/kinds/agent-kind.ts'
import { openService, type Service } from '../../../src/service.ts'
import { type Start } from '../../../src/session/model.ts'
import { SessionRunner } from '../../../src/session/runner.ts'
import { openSessionStore, type SessionPlace } from '../../../src/service/sessions/session-storage.ts'
import { quietLog } from '../../helpers/quiet-log.ts'
import { startRedisServer } from '../../helpers/redis-server.ts'
import { storeWith } from '../../helpers/registered.ts'
import { createTemporaryFolder, type TemporaryFolder } from '../../helpers/temporary-folder.ts'
import { waitFor } from '../../helpers/wait-for.ts'
import { INSTANT } from '../../session/manual-performer.ts'
import { newId } from '../../session/store/session-appends.ts'

const SETTING = { agent: parseAgent({ mode: 'steps', help: 'Help', classify: { prompt: 'a' }, select: { prompt: 'b' }, tools: [] }) as never, tools: [] }
/** A dialogue whose user has left long ago. */
const LEFT: Start = { engine: 'agent/1', definition: 'agents/helper', revision: '1', setting: SETTING, input: {}, owner: '', budget: { steps: 10, tokens: 10, idle: 1 }, ask: [] }

async function folderOf (t: TestContext): Promise<TemporaryFolder> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('shop/README.md', 'before')
  await folder.write('operator.yaml', 'workspaces: { shop: { path: shop } }')
  return folder
}

async function serviceOf (t: TestContext, environment: Readonly<Record<string, string>>): Promise<Service> {
  const service = await openService(loadConfig({ STORE_DIR: 'unused', LLM_BASE_URL: 'builtin:echo', ...environment }), quietLog(), { store: storeWith({}) })
  t.after(() => service.close())
  return service
}

/** Leaves a session that waits. */
async function leaveSession (place: SessionPlace): Promise<string> {
  const store = await openSessionStore(place, { log: quietLog() })
  const runner = new SessionRunner({ store, engines: ENGINES, performer: INSTANT, log: quietLog() })
  const id = newId()
  assert.equal((await runner.start(id, LEFT)).status, 'waiting_input')
  await runner.close()
  await store.close()
  return id
}

describe('A start, before anybody asks for a session', () => {
  it('goes on with the sessions of a folder', async t => {
    const { path } = await folderOf(t)
    const id = await leaveSession({ kind: 'directory', path: join(path, 'state/sessions') })
    await (await serviceOf(t, { STATE_DIR: join(path, 'state') })).sessions.begin()
    await waitFor('the session to have expired', async () => (await readdir(join(path, 'state/sessions/ended'), { recursive: true }).catch(() => [])).some(name => name.endsWith(`${id}.jsonl`)))
  })

  it('goes on with those that another replica leaves in Redis later', async t => {
    const redis = await startRedisServer()
    t.after(redis.stop)
    const { path } = await folderOf(t)
    const place = { kind: 'redis', url: redis.url } as const
    const { sessions } = await serviceOf(t, { STATE_DIR: join(path, 'state'), SESSION_STORE: redis.url })
    void sessions.begin()
    const id = await leaveSession(place)
    const store = await openSessionStore(place, { log: quietLog() })
    t.after(() => store.close())
    await waitFor('the session to have expired', async () => (await store.head(id))?.status === 'expired')
  })

  it('finishes a change of files that a crash has left half-made', async t => {
    const folder = await folderOf(t)
    const journal = join(folder.path, 'state/journal/shop')
    await makePrivateFolder(journal)
    const id = `${newId()}.2.0`
    const hash = (text: string): string => createHash('sha256').update(text).digest('hex')
    await new Journal(journal).begin(
      { id, at: Date.now(), kind: 'do', source: id, conflicts: [], steps: [{ kind: 'UPDATE_FILE', path: 'README.md', before: hash('before'), after: hash('after'), mode: 0o644, isAsked: true }] },
      (async function * () { for (const text of ['before', 'after']) yield [hash(text), Buffer.from(text)] as const })()
    )
    assert.deepEqual(await readdir(journal), [`${id}.open`])
    await (await serviceOf(t, { STATE_DIR: join(folder.path, 'state'), OPERATOR_FILE: join(folder.path, 'operator.yaml') })).sessions.begin()
    await waitFor('the change to end', async () => !(await readdir(journal)).some(name => name.endsWith('.open')))
    assert.equal(await readFile(join(folder.path, 'shop/README.md'), 'utf8'), 'after')
  })

  it('makes nothing where there is nothing', async t => {
    const { path } = await folderOf(t)
    const { sessions } = await serviceOf(t, { STATE_DIR: join(path, 'state'), OPERATOR_FILE: join(path, 'operator.yaml') })
    void sessions.begin()
    await new Promise(resolve => setImmediate(resolve))
    await sessions.close()
    await assert.rejects(access(join(path, 'state')), { code: 'ENOENT' })
    assert.equal(sessions.problem(), undefined)
  })

  it('waits for a process that still has the folder, says so, and goes on when it has ended', async t => {
    const { path } = await folderOf(t)
    const place = { kind: 'directory', path: join(path, 'state/sessions') } as const
    await leaveSession(place)
    const old = await openSessionStore(place, { log: quietLog() })
    assert.equal(await old.hasOpen(), true)
    const { sessions } = await serviceOf(t, { STATE_DIR: join(path, 'state') })
    void sessions.begin()
    await waitFor('the reason', () => sessions.problem()?.includes('another process uses the folder'))
    await old.close()
    await waitFor('the folder', () => sessions.problem() === undefined)
    await sessions.close()
  })
})
