// npm run bench:chat: what the service adds to a chat, against (a) the mock upstream itself, (b) the least that a proxy
// on Node can do, and (c) a chat written by hand with the service's own modules, all in one run. Every server is a process of its own. --json FILE writes the rows as JSON. Exits with 1
// when a goal is missed.
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { load, type Round, type Target } from './load.ts'
import { report, type Row } from './report.ts'
import { median, percentile } from './rounds.ts'
import { onStage, type Stage } from './stage.ts'

const ROUNDS = 5
const ROUND_MILLISECONDS = 3000
const WARM_UP_MILLISECONDS = 2000
/** Text events, the finish and `[DONE]`. */
const EVENTS_PER_STREAM = 22

const CONTESTANTS = ['direct', 'minimal', 'byHand', 'service'] as const

type Figures = Readonly<Record<typeof CONTESTANTS[number], Round>>

/** A row, and what it is in one round. */
interface Measure extends Omit<Row, 'figure'> { readonly figure: (round: Figures) => number }

interface Scenario {
  readonly title: string
  readonly model: string
  readonly connections: number
  /** How long one answer of the mock takes, in ms: the connections begin spread over it. */
  readonly answerTime: number
  readonly measures: readonly Measure[]
}

const beside = (read: (round: Round) => number, other: 'direct' | 'minimal', ours: 'service' | 'byHand' = 'service') => (figures: Figures) => read(figures[ours]) / read(figures[other])
const perSecond = (round: Round) => round.perSecond

const SCENARIOS: readonly Scenario[] = [
  {
    title: 'JSON, no think time, 50 connections',
    model: 'json-0',
    connections: 50,
    answerTime: 0,
    measures: [
      { name: 'chat/json/requests', figure: beside(perSecond, 'minimal'), unit: 'x', details: 'requests per second of (b)' },
      { name: 'chat/json/requests-by-hand', figure: beside(perSecond, 'minimal', 'byHand'), unit: 'x', details: 'those of (c) beside (b)' }
    ]
  },
  {
    title: 'JSON, 10 ms think time, 10 connections',
    model: 'json-10',
    connections: 10,
    answerTime: 10,
    measures: [50, 99].flatMap(percent => [
      { name: `chat/json-10/p${percent}`, figure: beside(({ totals }) => percentile(totals, percent), 'direct'), unit: 'x', details: 'of (a)' },
      { name: `chat/json-10/p${percent}-by-hand`, figure: beside(({ totals }) => percentile(totals, percent), 'direct', 'byHand'), unit: 'x', details: '(c) beside (a)' }
    ])
  },
  {
    title: 'streams of 20 events 5 ms apart, 20 connections',
    model: 'stream-5',
    connections: 20,
    answerTime: 110,
    measures: [
      { name: 'chat/streams/requests', figure: beside(perSecond, 'direct'), unit: 'x', details: 'streams per second of (a)' },
      { name: 'chat/streams/events', figure: ({ service }) => service.events / (service.replies * EVENTS_PER_STREAM), unit: 'x', details: 'of all events delivered' },
      { name: 'chat/streams/first-byte', figure: ({ service, direct }) => median(service.firstBytes) - median(direct.firstBytes), unit: 'ms', details: 'added to that of (a), p50' }
    ]
  },
  // For information: nothing waits here, so this is a matter of processor time only, the mock's included.
  { title: 'streams of 20 events without a pause, 20 connections', model: 'stream-0', connections: 20, answerTime: 0, measures: [] }
]

const { values: { json } } = parseArgs({ options: { json: { type: 'string' } } })
const rows = await onStage(async stage => {
  const targets = await startTargets(stage)
  const all: Row[] = []
  for (const scenario of SCENARIOS) all.push(...await run(scenario, targets))
  return all
})
const isGood = report(`Chat: Node ${process.version}, ${cpus().length} cores; medians of ${ROUNDS} rounds of ${ROUND_MILLISECONDS} ms, taken in turn`, rows, json)
process.exitCode = isGood ? 0 : 1

async function startTargets ({ folder, start }: Stage): Promise<Record<keyof Figures, Target>> {
  // A folder of its own: the service watches it, and must not see the servers write their logs.
  const store = join(folder, 'store')
  await mkdir(join(store, 'templates'), { recursive: true })
  await writeFile(join(store, 'templates', 'bench.yaml'), 'userPrompt: Say {{variables.word}} and go on for a hundred words.\n')
  const upstream = await start('bench/mock-upstream.ts', {})
  const minimal = await start('bench/minimal-proxy.ts', { UPSTREAM: upstream.origin })
  const byHand = await start('bench/chat-by-hand.ts', { UPSTREAM: upstream.origin })
  const service = await start('dist/main.js', { STORE_DIR: store, LLM_BASE_URL: `${upstream.origin}/v1`, PORT: '0' })
  const asOpenAi = (model: string) => JSON.stringify({ model, stream: model.startsWith('stream'), messages: [{ role: 'user', content: 'Say hello and go on for a hundred words.' }] })
  const asPrompt = (model: string) => JSON.stringify({ model, stream: model.startsWith('stream'), variables: { word: 'hello' } })
  return {
    direct: { name: '(a) mock upstream', origin: upstream.origin, path: '/v1/chat/completions', body: asOpenAi },
    minimal: { name: '(b) minimal proxy', origin: minimal.origin, path: '/v1/chat/completions', body: asOpenAi },
    byHand: { name: '(c) by hand', origin: byHand.origin, path: '/api/chat/prompts/bench', body: asPrompt },
    service: { name: 'the service', origin: service.origin, path: '/api/chat/prompts/bench', body: asPrompt }
  }
}

/** Measures all targets in turn, so that what else the machine does meets all of them. */
async function run ({ title, model, connections, answerTime, measures }: Scenario, targets: Record<keyof Figures, Target>): Promise<Row[]> {
  for (const name of CONTESTANTS) await load(targets[name], model, connections, WARM_UP_MILLISECONDS, answerTime)
  const rounds: Figures[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const measured: Array<[string, Round]> = []
    for (const name of CONTESTANTS) measured.push([name, await load(targets[name], model, connections, ROUND_MILLISECONDS, answerTime)])
    rounds.push(Object.fromEntries(measured) as Figures)
  }
  console.log(`\n${title}`)
  for (const name of CONTESTANTS) console.log(describe(targets[name].name, rounds.map(round => round[name])))
  return measures.map(measure => ({ ...measure, figure: median(rounds.map(measure.figure)) }))
}

function describe (name: string, rounds: readonly Round[]): string {
  const over = (read: (round: Round) => number) => median(rounds.map(read))
  const times = [50, 99].map(percent => `p${percent} ${over(({ totals }) => percentile(totals, percent)).toFixed(2)} ms`).join(', ')
  return `  ${name.padEnd(18)} ${over(perSecond).toFixed(0).padStart(6)} /s, ${times}, first byte p50 ${over(({ firstBytes }) => median(firstBytes)).toFixed(2)} ms`
}
