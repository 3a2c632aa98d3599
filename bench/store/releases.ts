import { setTimeout as sleep } from 'node:timers/promises'
import { contentHash } from '../../src/base/json.ts'
import { type Row } from '../report.ts'
import { percentile } from '../rounds.ts'
import { startRedis } from './redis.ts'
import { startService, type BenchService } from './service.ts'

const PROMPTS = 10_000
const MOVES = 200
const LOADS = 3
const RENDERS = 4000
const ROUNDS = 5

/** What labels cost: to load them, to move one, and to render under one. */
export async function releaseRows (): Promise<Row[]> {
  return [await loadRow(), ...await servedRows()]
}

/** 10,000 prompts with three labels over two versions, against the same without: until a process is ready. */
async function loadRow (): Promise<Row> {
  const [without, labelled] = [await startRedis(), await startRedis()]
  try {
    await without.fill(prompts())
    await labelled.fill(prompts())
    await labelled.fill(releases())
    const [plain, released] = [[], []] as [number[], number[]]
    for (let round = 0; round < LOADS; round++) {
      plain.push(await readyAfter(without.url))
      released.push(await readyAfter(labelled.url))
    }
    const [before, after] = [percentile(plain, 50), percentile(released, 50)]
    return { name: 'releases/load', figure: after / before, unit: 'x', details: `${PROMPTS} prompts, three labels each: ready after ${after.toFixed(0)} ms, without labels ${before.toFixed(0)} ms` }
  } finally {
    await without.stop()
    await labelled.stop()
  }
}

/** A label moves at one process and is followed at another; then renders under a label are held against those without. */
async function servedRows (): Promise<Row[]> {
  const redis = await startRedis()
  await redis.fill(prompts())
  await redis.fill(releases())
  const service = await startService(redis.url)
  try {
    await sleep(1000)
    const times: number[] = []
    for (let count = 0; count < MOVES; count++) times.push(await moveAndFollow(redis.client, service, count))
    const ratios: number[] = []
    for (let round = 0; round < ROUNDS; round++) {
      const plain = await timeOf(service, index => `t${index}`)
      ratios.push(plain / await timeOf(service, index => `t${index}@production`))
    }
    return [
      { name: 'releases/move-to-served/p99', figure: percentile(times, 99), unit: 'ms', details: `${MOVES} moves among ${PROMPTS} prompts, median ${percentile(times, 50).toFixed(1)} ms` },
      { name: 'releases/render', figure: percentile(ratios, 50), unit: 'x', details: 'requests under a label, against those without' }
    ]
  } finally {
    await service.stop()
    await redis.stop()
  }
}

async function moveAndFollow (client: { set (key: string, value: string): Promise<unknown> }, service: BenchService, count: number): Promise<number> {
  const index = count * 37 % PROMPTS
  const [, record] = recordOf(index, 2)
  const moved = performance.now()
  client.set(`shenma:releases:t${index}`, record).catch(() => {})
  while (!(await service.render(`t${index}@production`)).includes('second')) await sleep(1)
  return performance.now() - moved
}

async function timeOf (service: BenchService, id: (index: number) => string): Promise<number> {
  const begin = performance.now()
  for (let count = 0; count < RENDERS; count++) await service.render(id(5000 + count % 1000))
  return performance.now() - begin
}

async function readyAfter (url: string): Promise<number> {
  const service = await startService(url)
  await service.stop()
  return service.readyAfter
}

function * prompts (): Generator<readonly [string, string]> {
  for (let index = 0; index < PROMPTS; index++) yield [`shenma:templates:t${index}`, text(index, 'second')]
}

function * releases (): Generator<readonly [string, string]> {
  for (let index = 0; index < PROMPTS; index++) {
    yield [`shenma:versions:t${index}:1`, JSON.stringify({ entry: text(index, 'first') })]
    yield [`shenma:versions:t${index}:2`, JSON.stringify({ entry: text(index, 'second') })]
    yield recordOf(index, 1)
  }
}

function recordOf (index: number, production: number): readonly [string, string] {
  const versions = ['second', 'first'].map((stamp, at) => ({ n: 2 - at, tag: contentHash({ userPrompt: text(index, stamp) }), at: '2026-11-20T10:00:00Z', by: 'ana' }))
  const labels = { production, staging: 2, canary: [{ version: 2, weight: 5 }, { version: 1, weight: 95 }] }
  return [`shenma:releases:t${index}`, JSON.stringify({ next: 3, labels, versions, moves: [] })]
}

function text (index: number, stamp: string): string {
  return `Prompt ${index} says ${stamp}, and this is a sentence without a name in it.`
}
