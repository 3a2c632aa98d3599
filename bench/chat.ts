// npm run bench:chat: what the service adds to a chat, against (a) the mock upstream itself and (b) the least that a proxy
// on Node can do, all in one run. Every server is a process of its own. Exits with 1 when a bound is missed.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { load, percentile, type Round, type Target } from './load.ts'
import { startServer } from './processes.ts'

const ROUNDS = 5
const ROUND_MILLISECONDS = 3000
const WARM_UP_MILLISECONDS = 2000
/** Text events, the finish and `[DONE]`. */
const EVENTS_PER_STREAM = 22

interface Scenario {
  readonly title: string
  readonly model: string
  readonly connections: number
  readonly bounds: (figures: Figures) => readonly Bound[]
}

type Figures = Readonly<Record<'direct' | 'minimal' | 'service', Round>>

interface Bound { readonly text: string, readonly value: number, readonly isKept: boolean }

const atLeast = (text: string, value: number, bound: number): Bound => ({ text: `${text} >= ${bound}`, value, isKept: value >= bound })
const atMost = (text: string, value: number, bound: number): Bound => ({ text: `${text} <= ${bound}`, value, isKept: value <= bound })

function streamBounds ({ direct, service }: Figures): readonly Bound[] {
  return [
    atLeast('streams per second of (a)', service.perSecond / direct.perSecond, 0.65),
    atLeast('events delivered', service.events / (service.replies * EVENTS_PER_STREAM), 1)
  ]
}

const SCENARIOS: readonly Scenario[] = [
  { title: 'JSON, no think time, 50 connections', model: 'json-0', connections: 50, bounds: ({ minimal, service }) => [atLeast('requests per second of (b)', service.perSecond / minimal.perSecond, 0.75)] },
  {
    title: 'JSON, 10 ms think time, 10 connections',
    model: 'json-10',
    connections: 10,
    bounds: ({ direct, service }) => [
      atMost('p50 of (a)', percentile(service.totals, 0.5) / percentile(direct.totals, 0.5), 1.08),
      atMost('p99 of (a)', percentile(service.totals, 0.99) / percentile(direct.totals, 0.99), 1.25)
    ]
  },
  { title: 'streams of 20 events 5 ms apart, 20 connections', model: 'stream-5', connections: 20, bounds: figures => [...streamBounds(figures), firstByteBound(figures)] },
  // For information: nothing waits here, so this is a matter of processor time only, the mock's included.
  { title: 'streams of 20 events without a pause, 20 connections (no bound)', model: 'stream-0', connections: 20, bounds: () => [] }
]

function firstByteBound ({ direct, service }: Figures): Bound {
  return atMost('ms added to the first byte, p50', percentile(service.firstBytes, 0.5) - percentile(direct.firstBytes, 0.5), 1)
}

const folder = await mkdtemp(join(tmpdir(), 'bench-chat-'))
const servers: Array<{ stop (): void }> = []
let isGood = true
try {
  const targets = await startTargets()
  console.log(`Node ${process.version}, ${cpus().length} cores; medians of ${ROUNDS} rounds of ${ROUND_MILLISECONDS} ms, taken in turn`)
  for (const scenario of SCENARIOS) isGood = await run(scenario, targets) && isGood
} finally {
  for (const server of servers) server.stop()
  await rm(folder, { recursive: true })
}
process.exitCode = isGood ? 0 : 1

async function startTargets (): Promise<Record<keyof Figures, Target>> {
  // A folder of its own: the service watches it, and must not see the servers write their logs.
  const store = join(folder, 'store')
  await mkdir(join(store, 'templates'), { recursive: true })
  await writeFile(join(store, 'templates', 'bench.yaml'), 'userPrompt: Say {{variables.word}} and go on for a hundred words.\n')
  const upstream = await start('bench/mock-upstream.ts', {})
  const minimal = await start('bench/minimal-proxy.ts', { UPSTREAM: upstream })
  const service = await start('dist/main.js', { STORE_DIR: store, LLM_BASE_URL: `${upstream}/v1`, PORT: '0' })
  const asOpenAi = (model: string) => JSON.stringify({ model, stream: model.startsWith('stream'), messages: [{ role: 'user', content: 'Say hello and go on for a hundred words.' }] })
  const asPrompt = (model: string) => JSON.stringify({ model, stream: model.startsWith('stream'), variables: { word: 'hello' } })
  return {
    direct: { name: '(a) mock upstream', origin: upstream, path: '/v1/chat/completions', body: asOpenAi },
    minimal: { name: '(b) minimal proxy', origin: minimal, path: '/v1/chat/completions', body: asOpenAi },
    service: { name: 'the service', origin: service, path: '/api/chat/prompts/bench', body: asPrompt }
  }
}

async function start (script: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const server = await startServer(script, environment, join(folder, `${servers.length}.log`))
  servers.push(server)
  return server.origin
}

/** Measures all targets in turn, so that what else the machine does meets all of them. */
async function run ({ title, model, connections, bounds }: Scenario, targets: Record<keyof Figures, Target>): Promise<boolean> {
  const names = ['direct', 'minimal', 'service'] as const
  for (const name of names) await load(targets[name], model, connections, WARM_UP_MILLISECONDS)
  const rounds: Figures[] = []
  for (let round = 0; round < ROUNDS; round++) {
    rounds.push({
      direct: await load(targets.direct, model, connections, ROUND_MILLISECONDS),
      minimal: await load(targets.minimal, model, connections, ROUND_MILLISECONDS),
      service: await load(targets.service, model, connections, ROUND_MILLISECONDS)
    })
  }
  console.log(`\n${title}`)
  for (const name of names) console.log(describe(targets[name].name, rounds.map(round => round[name])))
  const all = rounds.map(bounds)
  const results = (all[0] ?? []).map(({ text }, index) => {
    const values = all.map(each => each[index]).filter(bound => bound !== undefined).sort((one, other) => one.value - other.value)
    return { text, median: values[Math.floor(values.length / 2)] }
  })
  for (const { text, median } of results) console.log(`  ${median?.isKept === true ? 'kept  ' : 'MISSED'} ${text}: ${median?.value.toFixed(3)}`)
  return results.every(({ median }) => median?.isKept === true)
}

function describe (name: string, rounds: readonly Round[]): string {
  const median = (read: (round: Round) => number) => percentile(rounds.map(read).sort((one, other) => one - other), 0.5)
  const perSecond = median(round => round.perSecond).toFixed(0)
  const times = [0.5, 0.99].map(share => `p${share * 100} ${median(round => percentile(round.totals, share)).toFixed(2)} ms`).join(', ')
  return `  ${name.padEnd(18)} ${perSecond.padStart(6)} /s, ${times}, first byte p50 ${median(round => percentile(round.firstBytes, 0.5)).toFixed(2)} ms`
}
