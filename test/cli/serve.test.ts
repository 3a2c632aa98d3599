import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { runAps, runApsHere, startAps } from '../helpers/aps.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const AT_ANY_PORT = { PORT: '0', DRAIN_DELAY_MS: '0' }

async function serve (t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await runApsHere(['init', folder.path])
  const child = startAps(['serve'], { ...AT_ANY_PORT, ...environment }, folder.path)
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', line => { lines.push(line) })
  const [, url = ''] = await waitFor('the address', () => lines.map(line => /^serves \. at (http:\S+)$/.exec(line)).find(match => match !== null))
  return { child, lines, url, folder }
}

describe('serve', () => {
  it('serves what init has written, says where and what answers, and serves an edit at once', async t => {
    const { url, lines, folder } = await serve(t)
    const render = async () => (await runApsHere(['prompt', 'render', 'team.greet', '-p', 'name=Ada'], { APS_URL: url })).stdout
    assert.equal(await render(), 'Say hello to Ada in one sentence, in a friendly tone.\n')
    await waitFor('the model', () => lines.includes('the model is a SCRIPT: demo'))
    await folder.write('environs/team/tone.json', '"dry"\n')
    await waitFor('the edit', async () => (await render()).includes('in a dry tone'))
  })

  it('takes a variable of the shell before a line of .env, and ends with 0 when it is interrupted', async t => {
    const { child, lines } = await serve(t, { LLM_BASE_URL: 'builtin:echo' })
    await waitFor('the model', () => lines.includes('the model is at builtin:echo'))
    child.kill('SIGINT')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })

  it('refuses a folder without registrations, and tells of variables in .env that look like those of the service', async t => {
    const { path, remove, write } = await createTemporaryFolder()
    t.after(remove)
    await write('.env', 'API_TOKEN=x\nPROT=1\nAPS_URL=http://127.0.0.1:1\nTOOL_SECRET_A=x\nTEAM=x\n')
    const { code, stderr } = await runAps(['serve'], AT_ANY_PORT, undefined, path)
    assert.equal(code, 2)
    const [first, second, third, ...rest] = stderr.split('\n')
    assert.deepEqual([first, second, rest], [
      '.env: API_TOKEN is no variable of the service: perhaps API_TOKENS is meant',
      '.env: PROT is no variable of the service: perhaps PORT is meant',
      ['']
    ])
    assert.match(third ?? '', /^aps: \.: expected one of the folders extensions, templates, .*npx ai-prompt-shell init writes an example$/)
  })

  it('refuses a port at which something listens', async t => {
    const server = createServer((_request, reply) => { reply.end() }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => { server.close() })
    const { port } = server.address() as AddressInfo
    const { path, remove, write } = await createTemporaryFolder()
    t.after(remove)
    await write('templates/greet.yaml', 'userPrompt: Hi')
    const { code, stderr } = await runAps(['serve'], { PORT: String(port) }, undefined, path)
    assert.deepEqual([code, stderr], [1, `aps: something listens at 127.0.0.1:${port} already: stop it, or choose another PORT\n`])
  })
})
