// npm run bench:tools: what people wait for who use aps and MCP: the start of aps, a lint and an unchanged push of a thousand files, and
// prompts/get beside the render that it does. --json FILE writes the rows as JSON.
import { execFile } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { report, type Row } from './report.ts'
import { median } from './rounds.ts'
import { onStage } from './stage.ts'

const run = promisify(execFile)

const FILES = 1000
const STARTS = 15
const ROUNDS = 5
const CALLS = 300

/** What aps gets of its environment: nothing that this process was given. */
const BARE = { PATH: process.env['PATH'] ?? '', HOME: '/nonexistent' }

const { values: { json } } = parseArgs({ options: { json: { type: 'string' } } })
const rows: Row[] = []

await onStage(async ({ folder, start }) => {
  const prompts = join(folder, 'prompts')
  for (let index = 0; index < FILES; index++) await write(join(prompts, 'templates', `m${index % 20}`, `p${index}.yaml`), `description: prompt ${index}\nparameters:\n  - { name: name, type: string }\nuserPrompt: |\n  Say hello to {{variables.name}}, number ${index}.\n`)

  const bare = await medianOf(STARTS, () => timed(process.execPath, ['--eval', '0']))
  const version = await medianOf(STARTS, () => aps(['--version']))
  rows.push({ name: 'aps/version', figure: version, unit: 'ms', details: `median of ${STARTS}; bare Node takes ${bare.toFixed(0)} ms` })
  rows.push({ name: 'aps/lint-1000', figure: await medianOf(ROUNDS, () => aps(['lint', prompts])), unit: 'ms', details: `${FILES} prompts, the whole process, median of ${ROUNDS}` })

  // A store of its own, into which all of them are pushed once.
  const store = join(folder, 'store')
  await mkdir(join(store, 'templates'), { recursive: true })
  const service = await start('dist/main.js', { STORE_DIR: store, PORT: '0' })
  await aps(['push', prompts, '--yes'], service.origin)
  rows.push({ name: 'aps/push-unchanged-1000', figure: await medianOf(ROUNDS, () => aps(['push', prompts, '--yes'], service.origin)), unit: 'ms', details: `${FILES} prompts, the whole process, median of ${ROUNDS}` })

  const render = () => post(`${service.origin}/api/render/prompts/m1.p1`, { variables: { name: 'Ada' } })
  const get = () => post(`${service.origin}/mcp`, { jsonrpc: '2.0', id: 1, method: 'prompts/get', params: { name: 'm1.p1', arguments: { name: 'Ada' } } })
  for (let warm = 0; warm < CALLS; warm++) await Promise.all([render(), get()])
  const times = { render: [] as number[], get: [] as number[] }
  for (let call = 0; call < CALLS; call++) {
    times.render.push(await render())
    times.get.push(await get())
  }
  const [rendered, got] = [median(times.render), median(times.get)]
  rows.push({ name: 'mcp/prompts-get', figure: got - rendered, unit: 'ms', details: `medians of ${CALLS}, one after the other, in turns: ${got.toFixed(2)} ms beside a render of ${rendered.toFixed(2)} ms` })
  service.stop()
})
process.exitCode = report('What users of the tools wait for', rows, json) ? 0 : 1

async function write (file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, text)
}

/** How long a run of the built command line takes, in ms. */
function aps (args: readonly string[], url?: string): Promise<number> {
  return timed(process.execPath, ['dist/cli/aps.js', ...args], url === undefined ? {} : { APS_URL: url })
}

async function timed (program: string, args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<number> {
  const started = performance.now()
  await run(program, args, { env: { ...BARE, ...environment }, maxBuffer: 64 * 1024 * 1024 })
  return performance.now() - started
}

/** How long a call takes until its reply is read, in ms. @throws for a reply that is none of success */
async function post (url: string, body: object): Promise<number> {
  const started = performance.now()
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2025-11-25' }, body: JSON.stringify(body) })
  const text = await reply.text()
  if (!reply.ok || text.includes('"error"')) throw new Error(`${url}: ${reply.status} ${text.slice(0, 300)}`)
  return performance.now() - started
}

async function medianOf (times: number, measure: () => Promise<number>): Promise<number> {
  const found: number[] = []
  for (let time = 0; time < times; time++) found.push(await measure())
  return median(found)
}
