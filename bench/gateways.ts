// npm run bench:gateways: the service as gateways are judged, beside the mock of a model's API (direct), the least that a proxy on Node can do
// (minimal), and whatever other gateways --others FILE names. With taskset and two cores each contestant has the first core, the mock and the load
// the second; only one contestant is asked at a time. --only PART runs one of frontier, latency, bodies, memory; --json FILE writes the rows as JSON.
import { spawnSync } from 'node:child_process'
import { mkdir, readFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { load, type Round, type Target } from './load.ts'
import { sendAtRate } from './planned-rate.ts'
import { cpuTime, residentMegabytes, type ServerProcess } from './processes.ts'
import { report, type Row } from './report.ts'
import { median, percentile } from './rounds.ts'
import { onStage, type Stage } from './stage.ts'

const CORE_OF_CONTESTANT = 0
const CORE_OF_LOAD = 1

const CONNECTIONS = 50
const WARM_UP_MILLISECONDS = 3000
const ROUND_MILLISECONDS = 3000
const ROUNDS = 3

/** Seconds at each rate; the rates are parts of what the contestant answers with all connections busy. */
const SECONDS = 3
const PARTS_OF_CAPACITY = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1]
/** Of p99, in ms. */
const BOUNDS = [1, 5, 10, 50, 100]

/** Requests a second at which added latency is measured beside a single connection. */
const STEADY_RATE = 1000

/** Bytes of a body, and how many connections send it. */
const BODIES = { '2 kB': [2000, 20], '100 kB': [100_000, 10], '1 MB': [1_000_000, 4], '10 MB': [10_000_000, 2] } as const

/** In ms. */
const REST = 60_000

/** A gateway that a user has: `{upstream}` in its words is the address of the mock. It listens at `origin` once it is ready. */
interface Other {
  readonly name: string
  readonly command: readonly [string, ...string[]]
  readonly environment?: Readonly<Record<string, string>>
  readonly origin: string
  readonly path?: string
}

interface Contestant {
  readonly name: string
  readonly server: ServerProcess
  readonly target: (bytes: number) => Target
}

const { values: { json, only, others } } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' }, others: { type: 'string' } } })
const PARTS: Readonly<Record<string, (contestants: readonly Contestant[]) => Promise<Row[]>>> = { latency: latencyRows, frontier: frontierRows, bodies: bodyRows, memory: memoryRows }

const isPinned = cpus().length > 1 && spawnSync('taskset', ['-cp', String(CORE_OF_LOAD), String(process.pid)]).status === 0
const rows = await onStage(async stage => {
  const contestants = await startContestants(stage)
  // What a contestant has in memory when it has just started, is lost with the first load.
  const idle = await Promise.all(contestants.map(async ({ name, server }) => ({ name: `memory/idle/${name}`, figure: await residentMegabytes(server.pid) ?? NaN, unit: 'MB', details: 'before the first request' }) as const))
  for (const { target } of contestants) await load(target(2000), 'json-0', CONNECTIONS, WARM_UP_MILLISECONDS)
  const all: Row[] = only === undefined || only === 'memory' ? [...idle] : []
  for (const [part, measure] of Object.entries(PARTS)) if (only === undefined || only === part) all.push(...await measure(contestants))
  return all
})
report(`Gateways: Node ${process.version}, ${cpus().length} cores${isPinned ? ', each contestant alone on one of them' : ', not pinned'}`, rows, json)

async function startContestants ({ folder, start }: Stage): Promise<Contestant[]> {
  const alone = isPinned ? CORE_OF_CONTESTANT : undefined
  const upstream = await start('bench/mock-upstream.ts', {}, isPinned ? CORE_OF_LOAD : undefined)
  const store = join(folder, 'store')
  await mkdir(store)
  const minimal = await start('bench/minimal-proxy.ts', { UPSTREAM: upstream.origin }, alone)
  const service = await start('dist/main.js', { STORE_DIR: store, LLM_BASE_URL: `${upstream.origin}/v1`, PORT: '0' }, alone)
  const known = [contestant('direct', upstream), contestant('minimal', minimal), contestant('service', service)]
  const listed = others === undefined ? [] : JSON.parse(await readFile(others, 'utf8')) as readonly Other[]
  for (const { name, command, environment = {}, origin, path } of listed) {
    const insert = (text: string): string => text.replaceAll('{upstream}', upstream.origin)
    const words = command.map(insert) as [string, ...string[]]
    const values = Object.fromEntries(Object.entries(environment).map(([key, value]) => [key, insert(value)]))
    known.push(contestant(name, await start(words, values, alone, origin), path))
  }
  return known
}

function contestant (name: string, server: ServerProcess, path = '/v1/chat/completions'): Contestant {
  const bodyOf = (model: string, bytes: number) => JSON.stringify({ model, stream: model.startsWith('stream'), messages: [{ role: 'user', content: 'A word of many. '.repeat(bytes / 16) }] })
  return { name, server, target: bytes => ({ name, origin: server.origin, path, body: model => bodyOf(model, bytes) }) }
}

/** The largest rate at which p99 stays below each bound, and what a request costs with all connections busy. */
async function frontierRows (contestants: readonly Contestant[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const model of ['json-0', 'stream-0']) {
    const busy = await inTurns(contestants, CONNECTIONS, model, 2000)
    for (const { name, target } of contestants) {
      const { perSecond, cpu, p99 } = busy[name] as Showing
      rows.push({ name: `frontier/${model}/busy/${name}`, figure: perSecond / (busy['minimal'] as Showing).perSecond, unit: 'x', details: `${perSecond.toFixed(0)} a second over ${CONNECTIONS} connections, p99 ${p99.toFixed(1)} ms, ${cpu.toFixed(0)} µs of CPU each` })
      const { origin, path, body } = target(2000)
      const p99s: Array<readonly [rate: number, p99: number]> = []
      for (const part of PARTS_OF_CAPACITY) {
        const rate = Math.round(perSecond * part)
        const { seconds, unanswered } = await sendAtRate({ origin, path: path as string, body: body(model), rate, connections: CONNECTIONS * 2, seconds: SECONDS, before: 1 })
        // A pause of the machine is in one second alone.
        p99s.push([rate, unanswered === 0 ? median(seconds) : Infinity])
      }
      const largest = (bound: number): string => {
        const beyond = p99s.findIndex(([, p99]) => p99 >= bound)
        const [rate] = p99s[beyond === -1 ? p99s.length - 1 : beyond - 1] ?? [0]
        return `${bound} ms: ${rate}`
      }
      rows.push({ name: `frontier/${model}/p99/${name}`, figure: p99s[4]?.[1] ?? NaN, unit: 'ms', details: `at half of that, the median of ${SECONDS} seconds; largest rate with p99 below ${BOUNDS.map(largest).join(', ')}` })
    }
  }
  return rows
}

/** What a contestant adds to the mock alone: over one connection, and at a steady rate; whole, to the first byte of a stream, and per event of it. */
async function latencyRows (contestants: readonly Contestant[]): Promise<Row[]> {
  const rows: Row[] = []
  const single: Record<string, Round[]> = {}
  const streamed: Record<string, Round[]> = {}
  const steady: Record<string, number[][]> = {}
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, target } of contestants) {
      (single[name] ??= []).push(await load(target(2000), 'json-0', 1, ROUND_MILLISECONDS));
      (streamed[name] ??= []).push(await load(target(2000), 'stream-5', 1, ROUND_MILLISECONDS))
      const { origin, path, body } = target(2000)
      const { p50, p99 } = await sendAtRate({ origin, path: path as string, body: body('json-0'), rate: STEADY_RATE, connections: CONNECTIONS, seconds: SECONDS, before: 1 });
      (steady[name] ??= []).push([p50, p99])
    }
  }
  const added = (name: string, read: (of: string, round: number) => number): number =>
    median(Array.from({ length: ROUNDS }, (_, round) => read(name, round) - read('direct', round)))
  for (const { name } of contestants.filter(({ name }) => name !== 'direct')) {
    for (const [index, percent] of [50, 99].entries()) {
      const of = (rounds: Record<string, Round[]>, figure: (round: Round) => readonly number[]) =>
        added(name, (of, round) => percentile(figure((rounds[of] as Round[])[round] as Round), percent))
      rows.push(
        { name: `latency/one/p${percent}/${name}`, figure: of(single, ({ totals }) => totals), unit: 'ms', details: 'added, one connection' },
        { name: `latency/first-byte/p${percent}/${name}`, figure: of(streamed, ({ firstBytes }) => firstBytes), unit: 'ms', details: 'added to the first byte of a stream' },
        { name: `latency/stream/p${percent}/${name}`, figure: of(streamed, ({ totals }) => totals), unit: 'ms', details: 'added to a stream of 20 events 5 ms apart' },
        { name: `latency/steady/p${percent}/${name}`, figure: added(name, (of, round) => ((steady[of] as number[][])[round] as number[])[index] as number), unit: 'ms', details: `added at ${STEADY_RATE} a second` }
      )
    }
  }
  return rows
}

/** CPU time of a request by the size of its body. */
async function bodyRows (contestants: readonly Contestant[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const [size, [bytes, connections]] of Object.entries(BODIES)) {
    for (const model of ['json-0', 'stream-0']) {
      const showings = await inTurns(contestants, connections, model, bytes)
      for (const { name } of contestants.filter(({ name }) => name !== 'direct')) {
        const { perSecond, cpu } = showings[name] as Showing
        rows.push({ name: `bodies/${size.replace(' ', '-')}/${model}/${name}`, figure: cpu, unit: 'µs', details: `of CPU each, ${perSecond.toFixed(0)} a second over ${connections} connections` })
      }
    }
  }
  return rows
}

async function memoryRows (contestants: readonly Contestant[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const { name, target, server: { pid } } of contestants.filter(({ name }) => name !== 'direct')) {
    await load(target(2000), 'json-0', CONNECTIONS, ROUND_MILLISECONDS * ROUNDS)
    rows.push({ name: `memory/loaded/${name}`, figure: await residentMegabytes(pid) ?? NaN, unit: 'MB', details: `after ${ROUND_MILLISECONDS * ROUNDS / 1000} s with ${CONNECTIONS} connections busy` })
  }
  await sleep(REST)
  for (const { name, server: { pid } } of contestants.filter(({ name }) => name !== 'direct')) {
    rows.push({ name: `memory/rested/${name}`, figure: await residentMegabytes(pid) ?? NaN, unit: 'MB', details: `${REST / 1000} s later` })
  }
  return rows
}

interface Showing { readonly perSecond: number, readonly cpu: number, readonly p99: number }

/** Keeps the connections of each contestant busy in turn, so that what else the machine does meets all; medians over the rounds, CPU time in µs a request. */
async function inTurns (contestants: readonly Contestant[], connections: number, model: string, bytes: number): Promise<Record<string, Showing>> {
  const showings: Record<string, Showing[]> = {}
  for (let round = 0; round < ROUNDS; round++) {
    for (const { name, target, server: { pid } } of contestants) {
      const before = await cpuTime(pid)
      const { perSecond, totals, replies } = await load(target(bytes), model, connections, ROUND_MILLISECONDS)
      const cpu = ((await cpuTime(pid) ?? NaN) - (before ?? NaN)) * 1000 / replies;
      (showings[name] ??= []).push({ perSecond, cpu, p99: percentile(totals, 99) })
    }
  }
  const over = (all: readonly Showing[], read: (showing: Showing) => number): number => median(all.map(read))
  return Object.fromEntries(Object.entries(showings).map(([name, all]) => [name, { perSecond: over(all, each => each.perSecond), cpu: over(all, each => each.cpu), p99: over(all, each => each.p99) }]))
}
