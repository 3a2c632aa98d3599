import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Flood, flood } from './open-loop.ts'
import { type Row } from './report.ts'
import { median } from './rounds.ts'
import { onStage } from './stage.ts'

export const ROUNDS = 5
const OPEN = 1000
/** Renders a second, which leave a core half idle. */
export const RATE = 500
/** Turns a second: each dialogue has one a minute, as people do who read and think. */
const TURNS = OPEN / 60
/** In ms. */
const DURATION = 4000

const HEADERS = { 'content-type': 'application/json' }

/** Renders of a service with a thousand open dialogues that go on, beside those of one without sessions, in turns. */
export const rendersBeside = (): Promise<Row[]> => onStage(async ({ folder, start }) => {
  const serve = async (name: string): Promise<string> => (await start('dist/main.js', { STORE_DIR: 'examples', PORT: '0', LOG_LEVEL: 'info', LLM_BASE_URL: 'builtin:script', LLM_SCRIPT_FILE: 'examples/demo/replies.yaml', STATE_DIR: join(folder, name) })).origin
  const [alone, crowded] = [await serve('alone'), await serve('crowded')]
  const ids = await openDialogues(crowded)
  for (const origin of [alone, crowded]) await render(origin)
  const [quiet, busy]: [Flood[], Flood[]] = [[], []]
  let turns = 0
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(await render(alone))
    const over = new AbortController()
    const talking = talk(crowded, ids, over.signal)
    busy.push(await render(crowded))
    over.abort()
    turns += await talking
  }
  const perSecond = Math.round(turns / ROUNDS / DURATION * 1000)
  return [
    beside('sessions/renders-beside', 'p50', busy, quiet, `${RATE} renders a second, beside ${OPEN} open sessions and ${perSecond} turns a second`),
    beside('sessions/renders-beside', 'p99', busy, quiet, 'the same')
  ]
})

/** Renders of a busy service beside those of a quiet one. @param name of the row, without the percentile */
export function beside (name: string, percentile: 'p50' | 'p99', busy: readonly Flood[], quiet: readonly Flood[], what: string): Row {
  const [crowded, alone] = [busy, quiet].map(floods => median(floods.map(flood => flood[percentile]))) as [number, number]
  return { name: `${name}-${percentile}`, figure: crowded / alone, unit: 'x', details: `${crowded.toFixed(2)} ms, alone ${alone.toFixed(2)} ms; ${what}` }
}

/** Renders a prompt at the rate, for some seconds. @param token that is sent. @default none */
export function render (origin: string, token?: string): Promise<Flood> {
  const sent = token === undefined ? {} : { token }
  return flood({ origin, path: '/api/render/prompts/greet', body: '{"variables":{"name":"Ada"}}', rate: RATE, connections: 64, duration: DURATION, ...sent })
}

async function openDialogues (origin: string): Promise<string[]> {
  const ids: string[] = []
  for (let count = 0; count < OPEN; count++) {
    const { id } = await (await fetch(`${origin}/api/agents/helper/sessions`, { method: 'POST' })).json() as { readonly id: string }
    ids.push(id)
  }
  return ids
}

/** Asks one dialogue after the other. @returns how many turns there were */
async function talk (origin: string, ids: readonly string[], signal: AbortSignal): Promise<number> {
  let turns = 0
  while (!signal.aborted) {
    const next = performance.now() + 1000 / TURNS
    const { status } = await fetch(`${origin}/api/agents/sessions/${ids[turns % OPEN]}/message`, { method: 'POST', headers: HEADERS, body: JSON.stringify({ text: 'Какая погода?' }) })
    if (status !== 200) throw new Error(`a turn was answered ${status}`)
    turns++
    await sleep(Math.max(0, next - performance.now()))
  }
  return turns
}
