import { setTimeout as sleep } from 'node:timers/promises'
import { type Row } from '../report.ts'
import { percentile } from '../rounds.ts'
import { startRedis } from './redis.ts'
import { startService, type BenchService } from './service.ts'

const ENTRIES = 10_000
const WRITES_PER_SECOND = 200
const SECONDS = 20
/** Of so many writes one is followed until a render shows it; all of them load the service. */
const FOLLOWED = 4
const BUCKETS = [2, 5, 10, 15, 20, 30, 50, 100, Infinity]

/** How long it takes from before a write until a render has shown it, with 10,000 entries and renders going on. */
export async function latencyRows (): Promise<Row[]> {
  const redis = await startRedis()
  await redis.fill(entries())
  const service = await startService(redis.url)
  try {
    const end = new AbortController()
    const renders = renderOn(service, end.signal)
    await sleep(2000)
    const times = await writeAndFollow(redis.client, service)
    end.abort()
    const rendered = await renders
    console.log(histogram(times))
    const details = `${times.length} of ${WRITES_PER_SECOND * SECONDS} writes followed, median ${percentile(times, 50).toFixed(1)} ms; ${Math.round(rendered / SECONDS)} other renders a second`
    return [{ name: 'write-to-served/p99', figure: percentile(times, 99), unit: 'ms', details }]
  } finally {
    await service.stop()
    await redis.stop()
  }
}

function * entries (): Generator<readonly [string, string]> {
  for (let index = 0; index < ENTRIES; index++) {
    const kind = index % 20
    if (kind === 0) yield [`shenma:extensions:e${index}`, JSON.stringify({ name: `e${index}`, version: '1.0.0', contributes: { prompts: [{ name: 'p', userPrompt: 'Say {{m.x}}' }] } })]
    else if (kind === 1) yield [`shenma:tools:m:t${index}`, JSON.stringify({ name: `t${index}`, type: 'restful', url: 'http://127.0.0.1:9/x' })]
    else if (kind === 2) yield [`shenma:environs:m:x${index}`, '"value"']
    else yield [`shenma:templates:t${index}`, templateText(index, 'first')]
  }
  yield ['shenma:environs:m:x', '"value"']
  yield ['shenma:templates:header', 'You answer about {{m.x}}.']
}

function templateText (index: number, stamp: string): string {
  return `{{> header}} Prompt ${index} says ${stamp} and {{m.x}}.`
}

/** Writes at a steady pace; gives the times of the writes that were followed, in ms. */
async function writeAndFollow (client: { set (key: string, value: string): Promise<unknown> }, service: BenchService): Promise<number[]> {
  const times: number[] = []
  const follows: Array<Promise<void>> = []
  const begin = performance.now()
  for (let count = 0; count < WRITES_PER_SECOND * SECONDS; count++) {
    const due = begin + count * 1000 / WRITES_PER_SECOND
    if (due > performance.now()) await sleep(due - performance.now())
    const index = 3 + (count * 20) % ENTRIES
    const stamp = `stamp-${count}`
    const written = performance.now()
    client.set(`shenma:templates:t${index}`, templateText(index, stamp)).catch(() => {})
    if (count % FOLLOWED === 0) follows.push(follow(index, stamp, written))
  }
  await Promise.all(follows)
  return times

  async function follow (index: number, stamp: string, written: number): Promise<void> {
    while (!(await service.render(`t${index}`)).includes(`${stamp} `)) await sleep(1)
    times.push(performance.now() - written)
  }
}

/** Renders one after the other until the end; gives how many. */
async function renderOn (service: BenchService, signal: AbortSignal): Promise<number> {
  let count = 0
  for (; !signal.aborted; count++) await service.render(`t${5 + (count * 20) % ENTRIES}`)
  return count
}

function histogram (times: readonly number[]): string {
  const lines = BUCKETS.map((upTo, index) => {
    const above = BUCKETS[index - 1] ?? 0
    const count = times.filter(time => time > above && time <= upTo).length
    return `${`${above} to ${upTo === Infinity ? '...' : upTo} ms`.padStart(14)}  ${String(count).padStart(5)}  ${'#'.repeat(Math.round(60 * count / times.length))}`
  })
  return ['', 'From a write to the first render that shows it', ...lines].join('\n')
}
