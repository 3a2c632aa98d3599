// npm run bench:overload: what the service still answers when three times as much comes as it can take.
// --json FILE writes the rows as JSON.
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type Flood, flood } from './open-loop.ts'
import { cpuTime, startServer } from './processes.ts'
import { report, type Row } from './report.ts'
import { median, percentile } from './rounds.ts'
import { BODY, writeStore } from './service/payload.ts'

const PATH = '/api/render/prompts/handlebars.prompt0'
const ROUNDS = 5
const ROUND_MILLISECONDS = 3000
/** What capacity is measured with: enough to keep the process busy, too few for a line. */
const CAPACITY_CONNECTIONS = 50
const FLOOD_CONNECTIONS = 1000
const OVERLOAD = 3
/** Requests a second. */
const MORE_THAN_ENOUGH = 100_000

/** What good answers there were, for each second and for each second of CPU time. */
interface Yield { readonly perSecond: number, readonly perCpuSecond: number }

interface Round { readonly capacity: Yield, readonly flooded: Flood & Yield, readonly health: readonly number[] }

const { values: { json } } = parseArgs({ options: { json: { type: 'string' } } })
const folder = await mkdtemp(join(tmpdir(), 'bench-overload-'))
await writeStore(folder, 10, 0)
const server = await startServer('dist/main.js', { STORE_DIR: folder, PORT: '0' }, join(folder, 'log'))
const rows: Row[] = []
try {
  await capacity()
  const rounds: Round[] = []
  for (let count = 0; count < ROUNDS; count++) rounds.push(await round())
  const over = (figure: (round: Round) => number) => median(rounds.map(figure))
  rows.push(
    {
      name: 'overload/goodput/requests',
      figure: over(({ capacity, flooded }) => flooded.perSecond / capacity.perSecond),
      unit: 'x',
      details: `${over(({ capacity }) => capacity.perSecond).toFixed(0)} /s at capacity; flooded ${over(({ flooded }) => flooded.perSecond).toFixed(0)} /s in time, ${over(({ flooded }) => flooded.refusedPerSecond).toFixed(0)} /s refused`
    },
    {
      name: 'overload/goodput/cpu',
      figure: over(({ capacity, flooded }) => flooded.perCpuSecond / capacity.perCpuSecond),
      unit: 'x',
      details: `${over(({ capacity }) => capacity.perCpuSecond).toFixed(0)} for a second of CPU time at capacity, flooded ${over(({ flooded }) => flooded.perCpuSecond).toFixed(0)}`
    },
    { name: 'overload/p99', figure: over(({ flooded }) => flooded.p99), unit: 'ms', details: 'of what is answered in time' },
    { name: 'overload/healthz-p99', figure: over(({ health }) => percentile(health, 99)), unit: 'ms', details: 'meanwhile' }
  )
} finally {
  server.stop()
  await rm(folder, { recursive: true })
}
report(`Overload, ${OVERLOAD} times the capacity: Node ${process.version}, ${cpus().length} cores`, rows, json)

async function round (): Promise<Round> {
  const most = await capacity()
  const [flooded, health] = await Promise.all([send(OVERLOAD * most.perSecond, FLOOD_CONNECTIONS), watchHealth(ROUND_MILLISECONDS)])
  return { capacity: most, flooded, health }
}

/** With always something to be answered, and no more than that. */
function capacity (): Promise<Yield> {
  return send(MORE_THAN_ENOUGH, CAPACITY_CONNECTIONS)
}

async function send (rate: number, connections: number): Promise<Flood & Yield> {
  const before = await cpuTime(server.pid) ?? NaN
  const flooded = await flood({ origin: server.origin, path: PATH, body: BODY, rate, connections, duration: ROUND_MILLISECONDS })
  const used = (await cpuTime(server.pid) ?? NaN) - before
  const { goodPerSecond } = flooded
  return { ...flooded, perSecond: goodPerSecond, perCpuSecond: goodPerSecond * ROUND_MILLISECONDS / used }
}

/** How long GET /healthz takes, asked again and again; in ms. */
async function watchHealth (duration: number): Promise<number[]> {
  const times: number[] = []
  for (const end = performance.now() + duration; performance.now() < end; await sleep(20)) {
    const begin = performance.now()
    assert.equal((await fetch(`${server.origin}/healthz`)).status, 200)
    times.push(performance.now() - begin)
  }
  return times
}
