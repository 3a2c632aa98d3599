// npm run bench:sessions: what sessions cost beside the bare appends that they are made of, how soon a follower hears of an
// append, and what many that wait take. --only stores|beside|streams measures a part; --json FILE writes the rows as JSON.
import { mkdtemp, open, rm } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { agentEngine } from '../src/engine/agent-engine.ts'
import { parseAgent } from '../src/registry/kinds/agent-kind.ts'
import { startOf } from '../src/session/engine.ts'
import { followSession } from '../src/session/follow.ts'
import { type LogPosition, type Start } from '../src/session/model.ts'
import { type Performer } from '../src/session/effects.ts'
import { SessionRunner } from '../src/session/runner.ts'
import { openSessionStore, type SessionPlace } from '../src/service/sessions/session-storage.ts'
import { type SessionStore } from '../src/session/store/session-store.ts'
import { appendOf, createSession, newId, positionOf } from '../test/session/store/session-appends.ts'
import { startRedisServer } from '../test/helpers/redis-server.ts'
import { report, type Row } from './report.ts'
import { median, percentile } from './rounds.ts'
import { rendersBeside } from './sessions-beside.ts'
import { rendersBesideStreams } from './sessions-streams.ts'

const ROUNDS = 5
/** Of one session in a round; each is an input, a question to the model, and the answer. */
const TURNS = 100
const FOLLOWED = 200
const WAITING = 10_000
const [FOLLOWERS, SESSIONS] = [1000, 100]

const LOG = { debug () {}, info () {}, warn () {}, error () {} }
const COMPLETION = { choices: [{ message: { role: 'assistant', content: 'нет' } }] }
const never = (): AbortSignal => new AbortController().signal
/** A model that takes no time. */
const PERFORMER: Performer = { perform: async () => ({ kind: 'result', result: COMPLETION }), isRepeatable: () => true }
const SETTING = parseAgent({ mode: 'steps', help: 'Help', classify: { prompt: 'Classify' }, select: { prompt: 'Select' }, tools: [] })
const START: Start = { engine: 'agent/1', definition: 'agents/bench', revision: '1', setting: { agent: { ...SETTING, language: 'en' } as never, tools: [] }, input: {}, owner: '', budget: { steps: 1e9, tokens: 1e9, idle: 3_600_000 }, ask: [] }
const ENGINES = new Map([[agentEngine.name, startOf(agentEngine)]])

const { values: { json, only } } = parseArgs({ options: { json: { type: 'string' }, only: { type: 'string' } } })
const folder = await mkdtemp(join(tmpdir(), 'bench-sessions-'))
const redis = await startRedisServer({ settings: ['--appendonly', 'yes', '--appendfsync', 'everysec'] })
const PARTS: ReadonlyMap<string, () => Promise<Row[]>> = new Map([
  ['stores', async () => [
    ...await measured('folder', { kind: 'directory', path: join(folder, 'runs') }, () => bareFolder(join(folder, 'bare'))),
    ...await measured('redis', { kind: 'redis', url: redis.url }, bareRedis),
    ...await crowd({ kind: 'redis', url: redis.url }),
    ...await waiting()
  ]],
  ['beside', rendersBeside],
  ['streams', rendersBesideStreams]
])
try {
  const rows: Row[] = []
  for (const [name, measure] of PARTS) if (only === undefined || only === name) rows.push(...await measure())
  report(`Sessions: Node ${process.version}, ${cpus().length} cores; medians of ${ROUNDS} rounds`, rows, json)
} finally {
  await redis.stop()
  await rm(folder, { recursive: true })
}

/** What a store gives to the turns of a dialogue, and to a follower. @param bare appends so many entries, and gives how many a second */
async function measured (name: string, place: SessionPlace, bare: () => Promise<number>): Promise<Row[]> {
  const store = await openSessionStore(place, { log: LOG })
  const runner = new SessionRunner({ store, engines: ENGINES, performer: PERFORMER, log: LOG })
  runner.open()
  const ratios: number[] = []
  const rates: number[] = []
  const added: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const before = await bare()
    const { rate, turns } = await dialogue(runner, store)
    ratios.push(rate / ((before + await bare()) / 2))
    rates.push(rate)
    added.push(...turns)
  }
  const latencies = await latency(store)
  await runner.close()
  await store.close()
  return [
    { name: `sessions/${name}/transitions`, figure: median(ratios), unit: 'x', details: `of bare appends; ${Math.round(median(rates))} transitions a second` },
    { name: `sessions/${name}/turn-p50`, figure: median(added), unit: 'ms', details: 'an input, a model that takes no time, its answer: two transitions' },
    { name: `sessions/${name}/follower-p99`, figure: percentile(latencies, 99), unit: 'ms', details: `from an append to a follower in the same process, p50 ${percentile(latencies, 50).toFixed(2)} ms` }
  ]
}

/** One dialogue, turn after turn: transitions a second, and the time of each turn in ms. */
async function dialogue (runner: SessionRunner, store: SessionStore): Promise<{ readonly rate: number, readonly turns: readonly number[] }> {
  const id = newId()
  await runner.start(id, START)
  const answers = followSession(store, id, 1, never())
  const turns: number[] = []
  const begin = performance.now()
  for (let turn = 0; turn < TURNS; turn++) {
    const asked = performance.now()
    await runner.input(id, { id: String(turn), by: '', text: 'hello' })
    for (let seen = 0; seen < 2;) if ('transition' in ((await answers.next()).value ?? {})) seen++
    turns.push(performance.now() - asked)
  }
  const rate = 2 * TURNS / (performance.now() - begin) * 1000
  await answers.return(undefined)
  return { rate, turns }
}

/** From the call of an append to the transition in a follower's hands, in ms. */
async function latency (store: SessionStore): Promise<number[]> {
  const id = newId()
  let top = await createSession(store, id, 1)
  const followed = followSession(store, id, 1, never())
  const latencies: number[] = []
  for (let count = 0; count < FOLLOWED; count++) {
    const next = followed.next()
    const begin = performance.now()
    const entry = appendOf(id, top)
    await store.append(entry)
    await next
    latencies.push(performance.now() - begin)
    top = positionOf(entry)
  }
  await followed.return(undefined)
  return latencies
}

/** A thousand followers at one replica, of a hundred sessions that another one appends to, one after the other. */
async function crowd (place: SessionPlace): Promise<Row[]> {
  const [writer, reader] = [await openSessionStore(place, { log: LOG }), await openSessionStore(place, { log: LOG })]
  const tops = new Map<string, LogPosition>()
  for (let count = 0; count < SESSIONS; count++) {
    const id = newId()
    tops.set(id, await createSession(writer, id, 1))
  }
  const ids = [...tops.keys()]
  const followers = Array.from({ length: FOLLOWERS }, (_, index) => ({ id: ids[index % SESSIONS] as string, followed: followSession(reader, ids[index % SESSIONS] as string, 0, never()) }))
  await Promise.all(followers.map(({ followed }) => followed.next()))
  const latencies: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    for (const id of ids) {
      const all = followers.filter(follower => follower.id === id).map(({ followed }) => followed.next().then(() => performance.now()))
      const begin = performance.now()
      const entry = appendOf(id, tops.get(id))
      await writer.append(entry)
      latencies.push(...(await Promise.all(all)).map(heard => heard - begin))
      tops.set(id, positionOf(entry))
    }
  }
  await Promise.all(followers.map(({ followed }) => followed.return(undefined)))
  await Promise.all([writer.close(), reader.close()])
  return [{ name: 'sessions/redis/crowd-p99', figure: percentile(latencies, 99), unit: 'ms', details: `from an append to each of ${FOLLOWERS} followers at another replica, p50 ${percentile(latencies, 50).toFixed(2)} ms` }]
}

/** Entries of a dialogue's size, each on the disk before the next: appends a second. */
async function bareFolder (path: string): Promise<number> {
  const file = await open(path, 'a')
  const line = `${JSON.stringify({ transition: 'x'.repeat(600) })}\n`
  const begin = performance.now()
  for (let count = 0; count < 2 * TURNS; count++) {
    await file.write(line)
    await file.datasync()
  }
  const rate = 2 * TURNS / (performance.now() - begin) * 1000
  await file.close()
  return rate
}

/** The commands of an append in one script, and nothing around it. */
async function bareRedis (): Promise<number> {
  const script = "redis.call('XADD', KEYS[1], '*', 'entry', ARGV[1]) redis.call('SET', KEYS[2], ARGV[2]) redis.call('ZADD', KEYS[3], ARGV[3], KEYS[1]) redis.call('PUBLISH', KEYS[1], '1')"
  const begin = performance.now()
  for (let count = 0; count < 2 * TURNS; count++) await redis.client.eval(script, 3, 'bare:log', 'bare:head', 'bare:due', 'x'.repeat(600), 'x'.repeat(200), count)
  return 2 * TURNS / (performance.now() - begin) * 1000
}

/** Many sessions that wait in a folder: how soon they are served after a start, and what each takes. */
async function waiting (): Promise<Row[]> {
  const path = join(folder, 'waiting')
  const writer = await openSessionStore({ kind: 'directory', path }, { log: LOG })
  for (let count = 0; count < WAITING; count += 100) await Promise.all(Array.from({ length: 100 }, () => createSession(writer, newId(), 1, { status: 'waiting_input', due: 3_600_000 })))
  await writer.close()
  globalThis.gc?.()
  const heap = process.memoryUsage().heapUsed
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const begin = performance.now()
  const store = await openSessionStore({ kind: 'directory', path }, { log: LOG })
  await store.take('bench', 1, 15_000)
  const opened = performance.now() - begin
  delays.disable()
  globalThis.gc?.()
  const bytes = (process.memoryUsage().heapUsed - heap) / WAITING
  await store.close()
  return [
    { name: 'sessions/waiting/served', figure: opened, unit: 'ms', details: `${WAITING} sessions of a folder, from opening it to the first take` },
    { name: 'sessions/waiting/longest-block', figure: delays.max / 1e6, unit: 'ms', details: 'of the event loop meanwhile' },
    { name: 'sessions/waiting/memory', figure: bytes / 1024, unit: 'KiB', details: 'of heap for each' }
  ]
}
