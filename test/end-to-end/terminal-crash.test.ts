import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readlink } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it, type TestContext } from 'node:test'
import { noJail } from '../exec/terminal/terminals-of-tests.ts'
import { isAlive, untilDead } from '../helpers/processes.ts'
import { type JsonView } from '../helpers/service.ts'
import { startProcess } from '../helpers/service-process.ts'
import { connectSocket, type SocketClient } from '../helpers/socket-client.ts'
import { noSshd, startOpenSsh, type TestSshd } from '../helpers/sshd.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

let server: TestSshd | undefined
before(async () => { if (noSshd === false) server = await startOpenSsh() })
after(() => server?.stop())

/** What the person and the skill do before the process is killed; then where the skill is. */
const MOMENTS: ReadonlyArray<[string, (client: SocketClient) => Promise<void>, string | undefined]> = [
  ['is open', async () => {}, undefined],
  ['runs a command', async client => {
    await approve(client)
    await client.next('skill_output')
  }, 'waiting_user'],
  ['lets a command wait', async client => {
    client.send({ type: 'data', data: 'half' })
    await waitFor('the half line', () => states(client).at(-1) === 'typing')
    await approve(client)
    await client.next('skill_info')
  }, 'waiting_user']
]

for (const [target, skip] of [['here', noJail], ['web', noSshd]] as const) {
  describe(`A process that is killed while its terminal on ${target}`, { skip: noJail === false ? skip : noJail }, () => {
    for (const [what, work, word] of MOMENTS) {
      it(`${what} leaves no shell and no file, and runs nothing twice`, async t => {
        const { folder, start } = await placeOf(t)
        const first = await start()
        const client = await connectSocket(t, first.url)
        client.send({ type: 'terminal_open', target })
        await waitFor('the terminal', () => states(client).length > 0)
        const terminalId = String(client.frames[0]?.['terminalId'])
        client.send({ type: 'skill_invoke', name: 'count', params: {} })
        const { sessionId } = await client.next('skill_session')
        await waitFor('the command', () => client.frames.some(({ type }) => String(type) === 'skill_command'))
        await work(client)
        const shells = await shellsBelow(folder)
        first.process.kill('SIGKILL')
        await once(first.process, 'exit')
        for (const shell of shells) await untilDead(shell)

        const second = await start()
        await waitFor('the end of the terminal', async () => String((await get(second.url, `/api/sessions/${terminalId}`))['status']) === 'failed')
        if (word !== undefined) {
          await waitFor('the question', async () => String((await get(second.url, `/api/sessions/${String(sessionId)}`))['word']) === word)
        }
        const next = await connectSocket(t, second.url)
        next.send({ type: 'terminal_open', target: 'here' })
        await waitFor('another terminal', () => states(next).length > 0)
        const folders = (await readdir(join(folder, 'state/terminals'))).filter(name => !name.startsWith(`${String(second.process.pid)}-`))
        assert.deepEqual(folders, [])
        const counted = await readdir(join(folder, 'shop')).then(names => names.filter(name => name.startsWith('count')))
        assert.ok(counted.length <= 1)
      })
    }
  })
}

interface CrashPlace { readonly folder: string, start (): ReturnType<typeof startProcess> }

async function placeOf (t: TestContext): Promise<CrashPlace> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  const { port = 0, user = '', hostKey = '', keyFile = '' } = server ?? {}
  const web = server === undefined ? {} : { web: { type: 'ssh', host: '127.0.0.1', port, user, hostKey, keyFile, cwd: join(folder.path, 'shop'), terminal: true } }
  const targets = { here: { type: 'local', workspace: 'shop', sandbox: 'required', terminal: true }, ...web }
  await folder.write('shop/a', '')
  await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets }))
  await folder.write('store/skills/count/SKILL.md', '---\nname: count\ndescription: Counts.\nprotocol: text\n---\nCount.')
  await folder.write('replies.yaml', JSON.stringify([{ last: 'Step 1 of', reply: '[CMD] mktemp ./countXXXX; echo counted; sleep 60' }, { last: 'Step', reply: '[DONE] Done.' }]))
  const at = (name: string): string => join(folder.path, name)
  const environment = { STORE_DIR: at('store'), STATE_DIR: at('state'), OPERATOR_FILE: at('operator.json'), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: at('replies.yaml'), ALLOW_ROOT: 'true' }
  return { folder: folder.path, start: () => startProcess(t, environment) }
}

/** The shells that have a folder as theirs. */
async function shellsBelow (folder: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter(name => /^\d+$/.test(name)).map(Number)
  const found = await Promise.all(pids.map(async pid => (await readlink(`/proc/${pid}/cwd`).catch(() => '')).startsWith(join(folder, 'shop')) && isAlive(pid) ? pid : 0))
  const all = found.filter(pid => pid > 0)
  assert.ok(all.length > 0)
  return all
}

async function get (url: string, path: string): Promise<JsonView> {
  return await (await fetch(`${url}${path}`)).json() as JsonView
}

async function approve (client: SocketClient): Promise<void> {
  const { digest } = await client.next('skill_command')
  client.send({ type: 'skill_approve', digest })
}

function states ({ frames }: SocketClient): string[] {
  return frames.filter(({ type }) => String(type) === 'terminal').map(({ state }) => String(state))
}
