import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { describe, it } from 'node:test'
import { startProcess } from '../helpers/service-process.ts'
import { waitFor } from '../helpers/wait-for.ts'

const examples = { STORE_DIR: 'examples' }

describe('the log of a process', () => {
  it('loses no line at SIGTERM', async t => {
    const { url, process, log } = await startProcess(t, examples)
    // More than one batch, and the last lines are younger than the timer that writes them.
    const ids = Array.from({ length: 100 }, (_, index) => `request-${index}`)
    await Promise.all(ids.map(async id => (await fetch(`${url}/api/prompts`, { headers: { 'x-request-id': id } })).text()))
    process.kill('SIGTERM')
    const [code] = await once(process, 'close') as [number]
    assert.equal(code, 0)
    const lines = log.map(line => JSON.parse(line) as { msg: string, requestId?: string }).filter(({ msg }) => msg === 'request')
    assert.deepEqual(lines.map(({ requestId }) => requestId).sort(), ids.sort())
  })

  it('tells of the error that ends the process', async t => {
    // Node itself raises it: an error that nobody handles, while the service runs.
    const { process, log } = await startProcess(t, { ...examples, NODE_OPTIONS: '--import=./test/fixtures/crash-on-signal.js' })
    process.kill('SIGUSR2')
    const [code] = await once(process, 'close') as [number]
    assert.equal(code, 1)
    const line = log.map(each => JSON.parse(each) as { level: number, msg: string, err?: { message: string, stack: string } }).find(({ msg }) => msg === 'closing after an error')
    assert.equal(line?.err?.message, 'nobody handles this')
    assert.match(line.err.stack, /crash-on-signal/)
  })

  it('is written within a moment while nothing else happens', async t => {
    const { url, process, log } = await startProcess(t, examples)
    await (await fetch(`${url}/api/prompts`)).text()
    const deadline = AbortSignal.timeout(10_000)
    while (!log.some(line => line.includes('"msg":"request"'))) await once(process.stdout as NonNullable<typeof process.stdout>, 'data', { signal: deadline })
  })

  it('is JSON where it is not a terminal', async t => {
    const { log } = await startProcess(t, examples)
    assert.ok(log.length > 0)
    for (const line of log) assert.doesNotThrow(() => JSON.parse(line), line)
  })

  it('is whole lines where several processes share a pipe that is full', async () => {
    const lines = 10_000
    const writer = `node --import tsx test/fixtures/log-writer.ts ${lines}`
    // What Node gives a child is no pipe; and one that is read in small pieces stays full.
    const writers = spawn('sh', ['-c', `(${writer} & ${writer} & ${writer} & wait) | dd bs=700`])
    let told = ''
    writers.stderr.on('data', piece => { told += piece })
    while (told.split('\n').filter(line => line === 'logged').length < 3) await once(writers.stderr, 'data')
    const written = (await text(writers.stdout)).trimEnd().split('\n')
    for (const line of written) assert.doesNotThrow(() => JSON.parse(line), line)
    assert.equal(written.length, 3 * lines)
  })

  it('drops lines that nobody takes for very long, and says how many', async () => {
    const lines = 100_000
    const writer = spawn('node', ['--import', 'tsx', 'test/fixtures/log-writer.ts', String(lines)])
    await once(writer.stderr, 'data')
    const written = (await text(writer.stdout)).trimEnd().split('\n').map(line => JSON.parse(line) as { msg: string, lines?: number })
    const dropped = written.flatMap(({ lines = 0 }) => lines).reduce((sum, each) => sum + each, 0)
    assert.equal(written.filter(({ msg }) => msg === 'request').length + dropped, lines)
    assert.ok(dropped > 0)
  })

  it('does not keep a process from its end when its reader has gone', { timeout: 60_000 }, async t => {
    const { url, process } = await startProcess(t, examples)
    await (await fetch(`${url}/api/prompts`)).text()
    process.stdout?.destroy()
    process.kill('SIGTERM')
    const [code] = await once(process, 'exit') as [number]
    assert.equal(code, 0)
  })

  it('does not keep a process from a second signal when its reader has gone', { timeout: 60_000 }, async t => {
    const { url, process } = await startProcess(t, { ...examples, DRAIN_DELAY_MS: '60000' })
    // Whoever watches readiness is waited for.
    await (await fetch(`${url}/readyz`)).text()
    process.stdout?.destroy()
    process.kill('SIGTERM')
    await waitFor('the first signal to be heard', async () => (await fetch(`${url}/readyz`)).status === 503)
    await (await fetch(`${url}/api/prompts`)).text()
    process.kill('SIGTERM')
    const [code] = await once(process, 'exit') as [number]
    assert.equal(code, 1)
  })
})
