import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir, readFile, readlink } from 'node:fs/promises'
import { describe, it } from 'node:test'
import { parseMetrics, sumOf } from '../helpers/metrics.ts'
import { startRestfulToolServer } from '../helpers/restful-tool-server.ts'
import { spawnService, startProcess } from '../helpers/service-process.ts'
import { createTemporaryFolder } from '../helpers/temporary-folder.ts'
import { sendJson, startUpstream } from '../helpers/upstream-server.ts'
import { waitFor } from '../helpers/wait-for.ts'

describe('a service that warms up before it listens', () => {
  it('has touched nothing of its users by then: no prompt, tool, model, metric or session, and has logged nothing', async t => {
    const [tools, upstream, folder] = await Promise.all([startRestfulToolServer(t), startUpstream((_hit, response) => { sendJson(response, 500, {}) }), createTemporaryFolder()])
    t.after(() => Promise.all([upstream.close(), folder.remove()]))
    await folder.write('templates/ask.json', JSON.stringify({ userPrompt: '{{a_tool variables.name}}' }))
    await folder.write('tools/a/tool.json', JSON.stringify({ url: `${tools.origin}/text`, parameters: [{ name: 'name', type: 'string' }] }))
    const { url, log } = await startProcess(t, { STORE_DIR: folder.path, STATE_DIR: `${folder.path}/state`, LLM_BASE_URL: upstream.baseUrl, WARM_UP_MS: '300' })
    const samples = parseMetrics(await (await fetch(`${url}/metrics`)).text())
    assert.deepEqual([tools.requests.length, upstream.hits.length, sumOf(samples, 'prompt_shell_renders_total'), sumOf(samples, 'prompt_shell_http_request_duration_seconds_count')], [0, 0, 0, 0])
    assert.deepEqual(log.map(line => (JSON.parse(line) as { msg: string }).msg).filter(message => !/^(?:registry published|Server listening at .*|changes are .*)$/.test(message)), [])
    assert.deepEqual(await (await fetch(`${url}/api/sessions`)).json(), { sessions: [] })
    await assert.rejects(readdir(`${folder.path}/state`), { code: 'ENOENT' })
  })

  it('ends at once when it is told to end', { skip: process.platform === 'linux' ? false : 'only Linux tells what a process listens at' }, async t => {
    const child = spawnService({ STORE_DIR: 'examples', WARM_UP_MS: '10000' })
    t.after(() => { child.kill('SIGKILL') })
    let shown = ''
    child.stdout.on('data', (chunk: Buffer) => { shown += chunk.toString() })
    await waitFor('it to listen to itself', () => listens(child.pid as number))
    child.kill('SIGTERM')
    const [code] = await once(child, 'exit') as [number | null]
    assert.equal(code, 0)
    assert.doesNotMatch(shown, /Server listening/)
  })

  it('does so in each of its workers', async t => {
    const { url, log } = await startProcess(t, { STORE_DIR: 'examples', WARM_UP_MS: '300', WORKERS: '2' })
    await waitFor('all workers to listen', () => log.some(line => line.includes('all workers listen')))
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
  })
})

/** Whether a process listens at any port: https://docs.kernel.org/networking/proc_net_tcp.html */
async function listens (pid: number): Promise<boolean> {
  const lines = (await readFile(`/proc/${pid}/net/tcp`, 'utf8')).split('\n').map(line => line.trim().split(/\s+/))
  const sockets = new Set(lines.filter(([, , , state]) => state === '0A').map(columns => `socket:[${columns[9]}]`))
  const files = await readdir(`/proc/${pid}/fd`)
  const targets = await Promise.all(files.map(file => readlink(`/proc/${pid}/fd/${file}`).catch(() => '')))
  return targets.some(target => sockets.has(target))
}
