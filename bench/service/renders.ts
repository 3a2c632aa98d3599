import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { type Row } from '../report.ts'
import { contest, type Contestant } from './contest.ts'
import { BODY, PROMPTS, REPLY, rotation, toolFact, writeStore, writeToolPrompts } from './payload.ts'
import { onServiceStage, type ServiceStage } from './service-stage.ts'

const PATH = '/api/render/prompts/handlebars.prompt0'
const GO_PATH = '/api/render/prompts/go.prompt0'

/** Renders of the whole service, as it ships, beside its yardsticks. */
export const renderRows = (): Promise<Row[]> => onServiceStage(async stage => {
  const many = join(stage.folder, 'many')
  await writeStore(many, 1000, 1000)
  const tool = await startTool()
  await writeToolPrompts(stage.store, tool.url)
  const service: Contestant = { name: 'service', server: await stage.startService(stage.store), path: PATH }
  const yardstick = async (name: 'echo' | 'literal', isBare: boolean): Promise<Contestant> => ({ name, server: await stage.start('bench/.build/bench/service/yardstick.js', { YARDSTICK: name, BARE: String(isBare) }), path: PATH })
  const [echo, literal] = [await yardstick('echo', false), await yardstick('literal', false)]
  const [called, written] = ['called', 'written'].map(name => ({ ...service, name, path: `/api/render/prompts/tools.${name}` })) as [Contestant, Contestant]
  const rows = [
    ...await compare('render/echo', service, echo),
    ...await compare('render/literal', service, literal),
    ...await compare('render/literal-beside-echo', literal, echo),
    ...await compare('render/bare-echo', service, await yardstick('echo', true)),
    await workersRow(stage, service),
    ...await goRows(stage, service, echo),
    ...await compare('render/prompts-in-rotation', { ...service, path: rotation() }, service),
    ...await compare('render/1000-environs', { name: 'with environs', server: await stage.startService(many), path: PATH }, service),
    ...await compare('render/cached-tools', called, written, await answer(written)),
    await eventLoopRow(service)
  ]
  tool.close()
  return rows
})

/** A row for requests per second and one for CPU time per request. */
async function compare (name: string, ours: Contestant, theirs: Contestant, expected: unknown = JSON.parse(REPLY)): Promise<Row[]> {
  for (const each of [ours, theirs]) assert.deepEqual(await answer(each), expected, `${name}: everybody gives the same answer`)
  const { ours: our, theirs: their, ratio } = await contest(ours, theirs, BODY)
  return [
    { name: `${name}/requests`, figure: ratio.perSecond, unit: 'x', details: `${our.perSecond.toFixed(0)} /s, ${theirs.name} ${their.perSecond.toFixed(0)} /s; p99 ${our.p99.toFixed(1)} ms, ${their.p99.toFixed(1)} ms` },
    { name: `${name}/cpu`, figure: ratio.cpu, unit: 'x', details: `${our.cpu.toFixed(0)} µs a request, ${theirs.name} ${their.cpu.toFixed(0)} µs` }
  ]
}

async function answer ({ server, path }: Contestant): Promise<unknown> {
  const url = `${server.origin}${typeof path === 'string' ? path : path()}`
  return (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body: BODY })).json()
}

/** A tool that gives one fact. */
async function startTool (): Promise<{ readonly url: string, close (): void }> {
  const server = createServer((request, response) => {
    const index = new URL(request.url ?? '', 'http://tool').searchParams.get('index') ?? ''
    response.setHeader('content-type', 'application/json').end(JSON.stringify(toolFact(index)))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/fact`, close: () => { server.closeAllConnections(); server.close() } }
}

/** Both languages, and the echo, beside Go's own net/http and text/template, where there is a Go toolchain. */
async function goRows ({ folder, start }: ServiceStage, service: Contestant, echo: Contestant): Promise<Row[]> {
  const program = join(folder, 'go-server')
  if (spawnSync('go', ['build', '-o', program, '.'], { cwd: 'bench/go-server', stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) {
    console.log('No Go toolchain: the rows against a Go server are left out.')
    return []
  }
  const templates = join(folder, 'go.json')
  const facts = Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`fact${index}`, `what fact ${index} says`]))
  await writeFile(templates, JSON.stringify({ messages: PROMPTS.go, bench: facts }))
  const go: Contestant = { name: 'Go', server: await start(program, { TEMPLATES: templates }), path: GO_PATH }
  return [
    ...await compare('render/go-server/go', { ...service, path: GO_PATH }, go),
    ...await compare('render/go-server/handlebars', service, go),
    ...await compare('render/go-server/echo-beside-it', echo, go)
  ]
}

/** Two workers behind one port. The load generator wants a core too, so that only four cores can show the double. */
async function workersRow ({ store, startService }: ServiceStage, service: Contestant): Promise<Row> {
  const two: Contestant = { name: 'two workers', server: await startService(store, { WORKERS: '2' }), path: PATH }
  assert.deepEqual(await answer(two), JSON.parse(REPLY))
  const { ours, theirs, ratio } = await contest(two, service, BODY)
  return { name: 'render/two-workers/requests', figure: ratio.perSecond, unit: 'x', details: `${ours.perSecond.toFixed(0)} /s, one ${theirs.perSecond.toFixed(0)} /s, load generator beside them` }
}

/** What the service itself says of its event loop, since its start. */
async function eventLoopRow ({ server }: Contestant): Promise<Row> {
  const text = await (await fetch(`${server.origin}/metrics`)).text()
  const seconds = /^\w*eventloop_lag_p99_seconds(?:\{[^}]*\})? ([\d.e-]+)/m.exec(text)?.[1]
  assert.ok(seconds !== undefined, 'the metrics tell the event loop\'s delay')
  return { name: 'event-loop/p99', figure: Number(seconds) * 1000, unit: 'ms', details: 'delay under load, as its own metric says' }
}
