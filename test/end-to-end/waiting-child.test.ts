import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import { type JsonView } from '../helpers/service.ts'
import { startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const AGENT = { system: 'You are top.', tools: [{ name: 'walk', skill: 'walk', target: 'here' }] }

/** The skill asks its user, then runs a command that leaves a file. */
const REPLIES = [
  { system: 'You are top.', last: 'Walked far.', reply: 'It has walked far.' },
  { system: 'You are top.', last: 'walk', calls: [{ name: 'walk' }] },
  { last: 'Step 1 of', reply: '[ASK] How far?' },
  { last: 'Step 2 of', reply: '[CMD] mktemp ./walkXXXXXX' },
  { last: 'Step', reply: '[DONE] Walked far.' }
]

describe('A child that waits for a person while its service is killed', () => {
  it('waits on after the next start: it is answered and allowed at its own id, and the one above it answers', async t => {
    const { start, walked } = await placeOf(t)
    let { url, kill } = await start()
    const root = String((await post(url, '/api/agents/top/sessions', {}))['id'])
    const turn = await post(url, `/api/agents/sessions/${root}/message`, { text: 'walk' })
    const child = String(turn['children']?.['0']?.['id'])
    await waitFor('the question', async () => await statusOf(url, child) === 'waiting_input')

    await kill();
    ({ url, kill } = await start())
    assert.deepEqual([await statusOf(url, child), await statusOf(url, root)], ['waiting_input', 'running'])
    await post(url, `/api/sessions/${child}/input`, { text: 'far' })
    const asked = await waitFor('the command', () => approvalBelow(url, root))

    await kill();
    ({ url, kill } = await start())
    const again = await waitFor('the command after the start', () => approvalBelow(url, root))
    assert.deepEqual([again['id'], again['digest'], again['session'], await walked()], [asked['id'], asked['digest'], child, 0])
    await post(url, `/api/approvals/${String(again['id'])}`, { decision: 'approve', digest: again['digest'] })
    await waitFor('the answer', async () => await statusOf(url, root) === 'waiting_input')
    const { messages } = await get(url, `/api/sessions/${root}/messages`)
    assert.equal((messages as unknown as readonly JsonView[]).map(({ text }) => String(text)).at(-1), 'It has walked far.')
    assert.deepEqual([await statusOf(url, child), await walked()], ['completed', 1])
  })
})

async function placeOf (t: TestContext) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const at = (name: string): string => join(folder.path, name)
  await folder.write('shop/a', '')
  await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } } }))
  await folder.write('store/agents/top.yaml', JSON.stringify(AGENT))
  await folder.write('store/skills/walk/SKILL.md', '---\nname: walk\ndescription: Walks.\nprotocol: text\n---\nWalk.')
  await folder.write('replies.yaml', JSON.stringify(REPLIES))
  const environment = { STORE_DIR: at('store'), STATE_DIR: at('state'), OPERATOR_FILE: at('operator.json'), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), ALLOW_ROOT: 'true' }
  return {
    walked: async () => (await readdir(at('shop'))).filter(name => name.startsWith('walk')).length,
    async start () {
      const { url, process } = await startProcess(t, environment)
      return {
        url,
        async kill (): Promise<void> {
          process.kill('SIGKILL')
          await once(process, 'exit')
        }
      }
    }
  }
}

async function get (url: string, path: string): Promise<JsonView> {
  return await (await fetch(`${url}${path}`)).json() as JsonView
}

async function post (url: string, path: string, body: object): Promise<JsonView> {
  return await (await fetch(`${url}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })).json() as JsonView
}

/** The status of a session, as soon as the service has its sessions. */
async function statusOf (url: string, id: string): Promise<string> {
  return await waitFor('the session', async () => {
    const { status } = await get(url, `/api/sessions/${id}`)
    return status === undefined ? undefined : String(status)
  }, 30_000)
}

async function approvalBelow (url: string, root: string): Promise<JsonView | undefined> {
  return (await get(url, `/api/approvals?root=${root}`))['approvals']?.['0']
}
