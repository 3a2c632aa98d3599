import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { treeOf, type Tree } from '../files/change/workspace.ts'
import { startRedisServer } from '../helpers/redis-server.ts'
import { startProcess, type ServiceProcess } from '../helpers/service-process.ts'
import { type JsonView } from '../helpers/service.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

// Two processes of the built service over one Redis, each with a disk of its own: a workspace `shop`, and a journal.

/** A lease has to end, and another process may be first to take the session over, in ms. */
const PATIENCE = 60_000

/** So many files are written by the plan that it can be killed between them. */
const FILES = 150
const CHANGE = { actions: Array.from({ length: FILES }, (_, index) => ({ kind: 'CREATE_FILE', path: `new/${index}.md`, content: `${index}\n`.repeat(3000) })), summary: 'Wrote them' }

interface Replica {
  start (): Promise<ServiceProcess>
  tree (): Promise<Tree>
  /** How many of the plan's files are there. */
  count (): Promise<number>
}

async function pair (t: TestContext, shared = ''): Promise<readonly [Replica, Replica]> {
  const [folder, redis] = [await createTemporaryFolder(), await startRedisServer()]
  t.after(redis.stop)
  t.after(folder.remove)
  const upstream = await startUpstream((_request, response) => { sendJson(response, 200, completion(JSON.stringify(CHANGE))) })
  t.after(() => upstream.close())
  await folder.write('store/plans/default.yaml', JSON.stringify({ confirm: 'none' }))
  const replica = async (name: string): Promise<Replica> => {
    const at = join(folder.path, name)
    await mkdir(join(at, 'shop'), { recursive: true })
    await writeFile(join(at, 'shop/README.md'), `# ${name}\n`)
    await writeFile(join(at, 'operator.yaml'), `workspaces:\n  shop: { path: shop, confirm: none${shared} }\n`)
    const environment = {
      STORE_DIR: join(folder.path, 'store'),
      OPERATOR_FILE: join(at, 'operator.yaml'),
      STATE_DIR: join(at, 'state'),
      SESSION_STORE: redis.url,
      SESSION_SECRET: 'x'.repeat(32),
      LLM_BASE_URL: upstream.baseUrl,
      LLM_API_KEY: 'k',
      PAPAYU_LLM_MODEL: 'm',
      ALLOW_ROOT: 'true'
    }
    return {
      start: () => startProcess(t, environment),
      tree: () => treeOf(join(at, 'shop')),
      count: async () => (await readdir(join(at, 'shop/new')).catch(() => [])).filter(file => file.endsWith('.md')).length
    }
  }
  return [await replica('one'), await replica('two')]
}

async function call ({ url }: ServiceProcess, path: string, body?: object): Promise<JsonView> {
  const response = await fetch(`${url}${path}`, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return await response.json() as JsonView
}

/** Starts a plan, and kills its process while it writes files. @returns the plan's id */
async function killedInApply (service: ServiceProcess, replica: Replica): Promise<string> {
  const gone = once(service.process, 'exit')
  const known = new Set((await sessionsOf(service)).map(({ id }) => id))
  void call(service, '/api/plans', { workspace: 'shop', goal: 'apply: write them' }).catch(() => {})
  const id = await waitFor('the plan', async () => (await sessionsOf(service)).find(each => !known.has(each.id))?.id, PATIENCE)
  await waitFor('the first file', async () => await replica.count() > 0, PATIENCE)
  service.process.kill('SIGKILL')
  await gone
  return id
}

async function sessionsOf (service: ServiceProcess): Promise<ReadonlyArray<{ readonly id: string }>> {
  return (await call(service, '/api/sessions'))['sessions'] as unknown as ReadonlyArray<{ readonly id: string }>
}

async function stateOf (service: ServiceProcess, id: string, state: string): Promise<JsonView> {
  return await waitFor(`the plan to be ${state}`, async () => {
    const plan = await call(service, `/api/plans/${id}`)
    return String(plan['state']) === state && String(plan['status']) === 'waiting_input' ? plan : undefined
  }, PATIENCE)
}

describe('A plan whose process was killed while it wrote', () => {
  it('goes on where its workspace and its journal are, and nowhere else, and takes words everywhere', async t => {
    const [one, two] = await pair(t)
    const [first, second] = [await one.start(), await two.start()]
    const [before, other] = [await one.tree(), await two.tree()]
    const id = await killedInApply(first, one)
    await waitFor('the other replica to say what it waits for', async () => /session waits for a process that has the disk "[^"]+"/.exec(JSON.stringify(await call(second, '/readyz')).replaceAll('\\"', '"'))?.[0], PATIENCE)
    await waitFor('its log to say so', () => second.log.some(line => line.includes('a session waits for a process that has its disk') && line.includes(id)))
    assert.deepEqual(await two.tree(), other)
    const again = await one.start()
    await stateOf(second, id, 'applied')
    assert.equal(await one.count(), FILES)
    assert.deepEqual(await two.tree(), other)
    // Words that are said to the other replica are carried out where the disk is.
    await call(second, `/api/plans/${id}/message`, { text: 'undo' })
    await stateOf(again, id, 'undone')
    assert.deepEqual([await one.tree(), await two.tree()], [before, other])
  })

  it('goes on at another process that has the disk by name', async t => {
    const [one, two] = await pair(t, ', disk: same')
    const [first, second] = [await one.start(), await two.start()]
    const id = await killedInApply(first, one)
    await stateOf(second, id, 'applied')
    assert.equal(await two.count(), FILES)
  })
})
