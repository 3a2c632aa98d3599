import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Flood } from './open-loop.ts'
import { cpuTime, type ServerProcess } from './processes.ts'
import { type Row } from './report.ts'
import { beside, RATE, render, ROUNDS } from './sessions-beside.ts'
import { onStage } from './stage.ts'

const STREAMS = 200
/** Between two words of a model, in ms. */
const GAP = 50
/** Until all models write, in ms. */
const BEGINNING = 2500

const AGENT = `description: Says the time.\nlanguage: en\nmodel: clock-${GAP}\nhistory: { turns: 1 }\ntools: []\n`

/** How soon a reader has the words of a model, while two hundred dialogues are followed, and renders beside them, with those of one without sessions, in turns. */
export const rendersBesideStreams = (): Promise<Row[]> => onStage(async ({ folder, start }) => {
  const store = join(folder, 'store')
  await cp('examples', store, { recursive: true })
  await writeFile(join(store, 'agents', 'clock.yaml'), AGENT)
  const model = await start('bench/mock-upstream.ts', {})
  const environment = { STORE_DIR: store, PORT: '0', LOG_LEVEL: 'info', LLM_BASE_URL: `${model.origin}/v1` }
  const serve = (name: string): Promise<ServerProcess> => start('dist/main.js', { ...environment, STATE_DIR: join(folder, name) })
  const { origin: alone } = await serve('alone')
  const { origin: crowded, pid } = await serve('crowded')
  const readers = fork('bench/stream-readers.ts', [crowded, ...await Promise.all(Array.from({ length: STREAMS }, () => open(crowded)))], { execArgv: ['--import', 'tsx'] })
  try {
    await once(readers, 'message')
    for (const origin of [alone, crowded]) await render(origin)
    const [quiet, busy]: [Flood[], Flood[]] = [[], []]
    const counts: number[] = []
    // Without renders first: what the words themselves cost does not depend on what else the machine does.
    const before = await cpuTime(pid) ?? 0
    const alike = (await turn(readers)).reduce((sum, count) => sum + count, 0)
    const cost = ((await cpuTime(pid) ?? 0) - before) / alike * 1000
    for (let round = 0; round < ROUNDS; round++) {
      quiet.push(await render(alone))
      const reading = turn(readers)
      await sleep(BEGINNING)
      busy.push(await render(crowded))
      for (const [milliseconds, count] of (await reading).entries()) counts[milliseconds] = (counts[milliseconds] ?? 0) + count
    }
    const words = counts.reduce((sum, count) => sum + count, 0)
    const details = `from the model to the reader of ${STREAMS} answers with a word each ${GAP} ms, p50 ${percentileOf(counts, words, 50)} ms, ${words} words`
    return [
      { name: 'sessions/streams/cpu', figure: cost, unit: 'µs', details: 'CPU time of the service for each word, from the model to the reader' },
      { name: 'sessions/streams/delta-p99', figure: percentileOf(counts, words, 99), unit: 'ms', details },
      beside('sessions/renders-beside-streams', 'p50', busy, quiet, `${RATE} renders a second, beside ${STREAMS} answers that are followed`),
      beside('sessions/renders-beside-streams', 'p99', busy, quiet, 'the same')
    ]
  } finally {
    readers.kill()
  }
})

async function open (origin: string): Promise<string> {
  const { id } = await (await fetch(`${origin}/api/agents/clock/sessions`, { method: 'POST' })).json() as { readonly id: string }
  return id
}

/** Lets all readers read one answer. @returns how many words were so many ms behind */
async function turn (readers: ChildProcess): Promise<readonly number[]> {
  readers.send('turn')
  const [counts] = await once(readers, 'message') as [readonly number[]]
  return counts
}

/** Of values that are counted by their size. */
function percentileOf (counts: readonly number[], all: number, percent: number): number {
  let seen = 0
  return counts.findIndex(count => (seen += count ?? 0) >= all * percent / 100)
}
