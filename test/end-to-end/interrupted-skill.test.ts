import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type JsonView } from '../helpers/service.ts'
import { startProcess } from '../helpers/service-process.ts'
import { connectSocket } from '../helpers/socket-client.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

/** Runs for ever the first time, and ends at once the second. */
const COMMAND = 'echo begun >> log.txt; test "$(wc -l < log.txt)" -gt 1 || sleep 1000'

const QUESTION = `The command "${COMMAND}" was interrupted. Nobody knows whether it was done. Answer "again" to run it again, "skip" to do without it, or with what it printed.`

describe('A command of a skill that kill -9 of the service has interrupted', () => {
  it('is asked about over REST and /ws, and runs again when somebody says so and it is allowed anew', async t => {
    const folder = await createTemporaryFolder()
    t.after(folder.remove)
    const path = (name: string): string => join(folder.path, name)
    await folder.write('store/skills/slow/SKILL.md', '---\nname: slow\ndescription: Is slow.\n---\nRun it.')
    await folder.write('shop/a.txt', 'a')
    await folder.write('operator.json', JSON.stringify({ workspaces: { shop: { path: 'shop' } }, targets: { here: { type: 'local', workspace: 'shop', sandbox: 'off' } } }))
    await folder.write('replies.json', JSON.stringify([{ last: 'Step 1 of', reply: `[CMD] ${COMMAND}` }, { last: 'Command output', reply: '[DONE] Ran.' }]))
    const environment = { STORE_DIR: path('store'), STATE_DIR: path('state'), OPERATOR_FILE: path('operator.json'), LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: path('replies.json'), ALLOW_ROOT: 'true' }
    const lines = async (): Promise<number> => (await readFile(path('shop/log.txt'), 'utf8').catch(() => '')).length / 'begun\n'.length
    const call = async (url: string, body?: object): Promise<JsonView> => {
      const reply = await fetch(url, body === undefined ? {} : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
      return (await reply.json() as JsonView)['data'] ?? {}
    }
    /** Allows what waits, by its digest. */
    const approve = async (url: string, id: string): Promise<void> => {
      const { approval } = await call(`${url}/api/skills/${id}`)
      await call(`${url}/api/skills/${id}/approve`, approval === undefined ? {} : { digest: approval['digest'] })
    }

    const first = await startProcess(t, environment)
    const id = String((await call(`${first.url}/api/skills/start`, { terminalSessionId: 'here', skillId: 'slow' }))['skillSessionId'])
    void approve(first.url, id).catch(() => {})
    await waitFor('the command to begin', async () => await lines() === 1)
    first.process.kill('SIGKILL')
    await once(first.process, 'exit')

    const { url } = await startProcess(t, environment)
    const asked = await waitFor('the question', async () => {
      const skill = await call(`${url}/api/skills/${id}`)
      return skill['state'] as unknown === 'waiting_user' && skill
    }, 60_000)
    assert.deepEqual([asked['aiResponse']?.['question'], asked['aiResponse']?.['isInterrupted'], asked['pendingCommand']], [QUESTION, true, COMMAND])
    const client = await connectSocket(t, url)
    client.send({ type: 'skill_resume', sessionId: id })
    assert.deepEqual(await client.next('skill_message'), { type: 'skill_message', text: QUESTION, required: true })

    const proposed = await call(`${url}/api/skills/${id}/message`, { userMessage: 'again' })
    assert.deepEqual([proposed['aiResponse']?.['command'], proposed['state'], await lines()], [COMMAND, 'waiting_cmd', 1])
    await approve(url, id)
    const { state, text } = await waitFor('the end', async () => {
      const skill = await call(`${url}/api/skills/${id}`)
      return skill['state'] as unknown === 'done' && skill
    })
    assert.deepEqual([state, text, await lines()], ['done', 'Ran.', 2])
  })
})
