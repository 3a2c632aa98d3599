import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, mkdir, symlink } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, it, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import type OpenAI from 'openai'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('npm start', () => {
  it('says at which port it serves the examples where PORT=0 leaves the choice', async t => {
    const { lineWith } = await start(t)
    const [, url = ''] = /at (http:\/\/127\.0\.0\.1:[1-9]\d*)$/.exec(await lineWith('serves examples at')) ?? []
    assert.equal((await fetch(`${url}/api/prompts/greet`)).status, 200)
  })

  it('prints a command to try, which works', async t => {
    const { lineWith } = await start(t)
    const { stdout } = await promisify(execFile)('sh', ['-c', (await lineWith('try: ')).replace('try: ', '')])
    assert.deepEqual(JSON.parse(stdout), { rendered_prompt: 'Say hello to Ada in one sentence.', status: 'success' })
  })

  it('goes by .env, and serves no examples where it names a store', async t => {
    const { lineWith, lines } = await start(t, { '.env': 'STORE_DIR=mine\n', 'mine/templates/a.yaml': 'userPrompt: Hi\n' })
    await lineWith('serves mine at')
    await lineWith('the model is a SCRIPT')
    assert.deepEqual(lines.filter(line => line.startsWith('try:')), [])
  })

  it('answers chats from the script of the examples', async t => {
    const { lineWith } = await start(t)
    const [, url = ''] = /at (http:.*)$/.exec(await lineWith('serves examples at')) ?? []
    const reply = await fetch(`${url}/api/chat/prompts/greet`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"variables":{"name":"Ada"}}' })
    const { choices, system_fingerprint: fingerprint } = await reply.json() as OpenAI.ChatCompletion
    assert.deepEqual([choices[0]?.message.content, fingerprint], ['Hello, and welcome!', 'builtin:script'])
  })

  it('ends with 0 when it is told to end', async t => {
    const { process, lineWith } = await start(t)
    await lineWith('serves examples')
    process.kill('SIGTERM')
    assert.deepEqual(await once(process, 'exit'), [0, null])
  })

  it('ends with 1 when the service is killed', async t => {
    const { process: starter, lineWith } = await start(t)
    const { pid } = JSON.parse(await lineWith('Server listening')) as { pid: number }
    process.kill(pid, 'SIGKILL')
    assert.deepEqual(await once(starter, 'exit'), [1, null])
  })
})

interface Started {
  readonly process: ChildProcess
  readonly lines: readonly string[]
  /** The first line, also of those that have come, that holds a text. */
  lineWith (text: string): Promise<string>
}

/** The script where everything is installed and built already: it would build anew under the tests that run beside this one. */
async function start (t: TestContext, files: Readonly<Record<string, string>> = {}): Promise<Started> {
  const folder = await createTemporaryFolder()
  t.after(folder.remove)
  await folder.write('package-lock.json', '{}')
  await folder.write('package.json', '{ "type": "module", "scripts": { "build": "node --version" } }')
  await folder.write('node_modules/.package-lock.json', '{}')
  await mkdir(join(folder.path, 'scripts'))
  for (const script of ['start.js', 'install.js']) await copyFile(join('scripts', script), join(folder.path, 'scripts', script))
  for (const built of ['dist', 'examples']) await symlink(resolve(built), join(folder.path, built))

  for (const [path, content] of Object.entries(files)) await folder.write(path, content)
  const child = spawn(process.execPath, ['scripts/start.js'], {
    cwd: folder.path,
    env: { PATH: process.env['PATH'], PORT: '0', LOG_LEVEL: 'info', DRAIN_DELAY_MS: '0' },
    stdio: ['ignore', 'pipe', 'inherit']
  })
  t.after(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    await once(child, 'exit')
  })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', line => { lines.push(line) })
  return {
    lines,
    process: child,
    lineWith: text => waitFor(`a line with "${text}"`, () => lines.find(line => line.includes(text)))
  }
}
