import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { access, chmod, readdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { startProcess, type ServiceProcess } from '../helpers/service-process.ts'
import { type JsonView } from '../helpers/service.ts'
import { completion, sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'
import { createScratch, type Scratch } from './scratch.ts'

// The built service as a process that is killed, and another one over the same folders.

/** The next process waits until the lock of a killed one is old. */
const PATIENCE = 60_000

const READ = { actions: [], context_requests: [{ type: 'read_file', path: 'src/price.js' }] }
const edit = (search: string, replace: string) => ({ actions: [{ kind: 'EDIT_FILE', path: 'src/price.js', edits: [{ search, replace }] }], summary: 'Mend the price' })
/** Looks, proposes what is wrong, and mends that in a second round. */
const ANSWERS = [READ, edit('pieces > 10', 'pieces > 11'), edit('pieces > 11', 'pieces >= 10')]

interface Place {
  readonly scratch: Scratch
  readonly git: (...words: string[]) => string
  start (): Promise<ServiceProcess>
}

/** @param onRequest what happens when the model is asked for the n-th time, before it answers */
async function place (t: TestContext, onRequest: (n: number) => void = () => {}): Promise<Place> {
  const scratch = await createScratch(t, '', { default: { confirm: 'deletions' } })
  const git = (...words: string[]): string => execFileSync('git', ['-C', scratch.path, ...words], { encoding: 'utf8' }).trim()
  git('config', 'user.name', 'Ann')
  git('config', 'user.email', 'ann@example.com')
  git('add', '.')
  git('commit', '--quiet', '-m', 'First')
  await writeFile(join(dirname(scratch.path), 'operator.yaml'), 'workspaces:\n  shop: { path: shop, checks: { test: node --test }, commit: true }\npolicy: [{ on: exec, effect: allow, command: git commit }]\n')
  let count = 0
  const upstream = await startUpstream(({ body }, response) => {
    onRequest(++count)
    // A question that was asked before a kill is asked again: what the model has read tells which answer is due.
    const answer = !body.includes('FILE[src/price.js]') ? ANSWERS[0] : body.includes('CHECK[test]') ? ANSWERS[2] : ANSWERS[1]
    sendJson(response, 200, completion(JSON.stringify(answer)))
  })
  t.after(() => upstream.close())
  const environment = { ...scratch.environment, LLM_BASE_URL: upstream.baseUrl, LLM_API_KEY: 'k', PAPAYU_LLM_MODEL: 'm', ALLOW_ROOT: 'true', HOME: process.env['HOME'] ?? '/' }
  return { scratch, git, start: () => startProcess(t, environment) }
}

async function call ({ url }: ServiceProcess, path: string, body?: object): Promise<JsonView> {
  const response = await fetch(`${url}${path}`, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  return await response.json() as JsonView
}

async function kill (service: ServiceProcess): Promise<void> {
  const gone = once(service.process, 'exit')
  service.process.kill('SIGKILL')
  await gone
}

/** The plan of the only session, once it waits in a state. */
async function planIn (service: ServiceProcess, state: string): Promise<JsonView> {
  return await waitFor(`a plan that is ${state}`, async () => {
    const { sessions } = await call(service, '/api/sessions')
    const id = sessions?.['0']?.['id']
    if (id === undefined) return undefined
    const plan = await call(service, `/api/plans/${String(id)}`)
    return String(plan['state']) === state && String(plan['status']) === 'waiting_input' ? plan : undefined
  }, PATIENCE)
}

describe('A service that is killed', { concurrency: true }, () => {
  it('while a round is asked for goes on with it, and one undo takes back all', async t => {
    const killed: { victim?: ServiceProcess } = {}
    // The first two questions are those of the goal, the third that of the round.
    const { scratch, start } = await place(t, n => { if (n === 3) killed.victim?.process.kill('SIGKILL') })
    const before = await scratch.tree()
    const victim = await start()
    killed.victim = victim
    const gone = once(victim.process, 'exit')
    await call(victim, '/api/plans', { workspace: 'shop', goal: 'apply: mend it' }).catch(() => {})
    await gone
    const next = await start()
    const plan = await planIn(next, 'applied')
    assert.match(await scratch.read('src/price.js'), /pieces >= 10/)
    assert.equal((await call(next, `/api/plans/${String(plan['id'])}/undo`, {}))['state'], 'undone')
    assert.deepEqual(await scratch.tree(), before)
  })

  it('behind a commit that it has not written down makes no second one', async t => {
    const { scratch, git, start } = await place(t)
    const first = await start()
    const plan = await call(first, '/api/plans', { workspace: 'shop', goal: 'apply: mend it' })
    assert.equal(plan['state'], 'applied')
    await scratch.write('.git/hooks/post-commit', '#!/bin/sh\ntouch .git/made\nsleep 1000\n')
    await chmod(join(scratch.path, '.git/hooks/post-commit'), 0o755)
    void call(first, `/api/plans/${String(plan['id'])}/commit`, {}).catch(() => {})
    await waitFor('the commit', () => access(join(scratch.path, '.git/made')).then(() => true, () => false), PATIENCE)
    await kill(first)
    const next = await start()
    const { commit } = await planIn(next, 'applied')
    assert.deepEqual([commit, git('rev-list', '--count', 'HEAD'), git('log', '-1', '--format=%s')], [git('rev-parse', 'HEAD'), '2', 'Mend the price'])
  })

  it('in the middle of a commit has made none, and makes it once git is free', async t => {
    const { git, scratch, start } = await place(t)
    const first = await start()
    const plan = await call(first, '/api/plans', { workspace: 'shop', goal: 'apply: mend it' })
    // A hook that waits the first time: nothing is committed when its service is killed. git leaves its locks, as any killed git does.
    await scratch.write('.git/hooks/pre-commit', '#!/bin/sh\ntest -e .git/asked && exit 0\ntouch .git/asked\nsleep 1000\n')
    await chmod(join(scratch.path, '.git/hooks/pre-commit'), 0o755)
    void call(first, `/api/plans/${String(plan['id'])}/commit`, {}).catch(() => {})
    await waitFor('the hook', () => access(join(scratch.path, '.git/asked')).then(() => true, () => false), PATIENCE)
    await kill(first)
    const next = await start()
    const found = await planIn(next, 'applied')
    assert.equal(found['error_code'], 'COMMIT_FAILED', 'git refuses while its locks are there')
    assert.equal(git('rev-list', '--count', 'HEAD'), '1')
    for (const name of await readdir(join(scratch.path, '.git'))) if (name.endsWith('.lock')) await rm(join(scratch.path, '.git', name))
    const made = await call(next, `/api/plans/${String(plan['id'])}/commit`, {})
    assert.deepEqual([made['commit'], git('rev-list', '--count', 'HEAD')], [git('rev-parse', 'HEAD'), '2'])
  })
})
