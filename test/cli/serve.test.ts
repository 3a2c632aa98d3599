import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { runAps, startAps } from '../helpers/aps.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

const AT_ANY_PORT = { PORT: '0', DRAIN_DELAY_MS: '0' }

async function serve (t: TestContext, environment: Readonly<Record<string, string>> = {}) {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await runAps(['init'], {}, undefined, folder.path)
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
  it('serves what init has written, and says where and what answers', async t => {
    const { url, lines } = await serve(t)
    const { stdout } = await runAps(['prompt', 'render', 'team.greet', '-p', 'name=Ada'], { APS_URL: url })
    assert.equal(stdout, 'Say hello to Ada in one sentence, in a friendly tone.\n')
    await waitFor('the model', () => lines.includes('the model is a SCRIPT: demo') || undefined)
  })

  it('serves an edit at once', async t => {
    const { url, folder } = await serve(t)
    await folder.write('environs/team/tone.json', '"dry"\n')
    await waitFor('the edit', async () => {
      const { stdout } = await runAps(['prompt', 'render', 'team.greet', '-p', 'name=Ada'], { APS_URL: url })
      return stdout.includes('in a dry tone') || undefined
    })
  })

  it('takes a variable of the shell before a line of .env', async t => {
    const { lines } = await serve(t, { LLM_BASE_URL: 'builtin:echo' })
    await waitFor('the model', () => lines.includes('the model is at builtin:echo') || undefined)
  })

  it('ends with 0 when it is interrupted', async t => {
    const { child } = await serve(t)
    child.kill('SIGINT')
    assert.deepEqual(await once(child, 'exit'), [0, null])
  })

  it('tells of variables in .env that look like those of the service', async t => {
    const { path, remove, write } = await createTemporaryFolder()
    t.after(remove)
    await write('.env', 'API_TOKEN=x\nPROT=1\nAPS_URL=http://127.0.0.1:1\nTOOL_SECRET_A=x\nTEAM=x\n')
    const { stderr } = await runAps(['serve'], AT_ANY_PORT, undefined, path)
    assert.deepEqual(stderr.split('\n').slice(0, 2), [
      '.env: API_TOKEN is no variable of the service: perhaps API_TOKENS is meant',
      '.env: PROT is no variable of the service: perhaps PORT is meant'
    ])
    assert.match(stderr.split('\n')[2] ?? '', /^aps: \.: expected one of the folders/)
  })

  it('refuses a folder without registrations', async t => {
    const { path, remove } = await createTemporaryFolder()
    t.after(remove)
    const { code, stderr } = await runAps(['serve'], AT_ANY_PORT, undefined, path)
    assert.equal(code, 2)
    assert.match(stderr, /^aps: \.: expected one of the folders extensions, templates, .*npx ai-prompt-shell init writes an example\n$/)
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
