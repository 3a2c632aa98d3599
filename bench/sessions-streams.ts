import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Flood } from './open-loop.ts'
import { type Row } from './report.ts'
import { percentile } from './rounds.ts'
import { beside, RATE, render, ROUNDS } from './sessions-beside.ts'
import { onStage } from './stage.ts'

const STREAMS = 200
/** Between two words of a model, in ms. */
const GAP = 50
/** Until all models write, in ms. */
const BEGINNING = 1000

const AGENT = `description: Says the time.\nlanguage: en\nmodel: clock-${GAP}\nhistory: { turns: 1 }\ntools: []\n`

/** How soon a reader has the words of a model, while two hundred dialogues are followed, and renders beside them, with those of one without sessions, in turns. */
export const rendersBesideStreams = (): Promise<Row[]> => onStage(async ({ folder, start }) => {
  const store = join(folder, 'store')
  await cp('examples', store, { recursive: true })
  await writeFile(join(store, 'agents', 'clock.yaml'), AGENT)
  const model = await start('bench/mock-upstream.ts', {})
  const serve = async (name: string): Promise<string> => (await start('dist/main.js', { STORE_DIR: store, PORT: '0', LOG_LEVEL: 'info', LLM_BASE_URL: `${model.origin}/v1`, STATE_DIR: join(folder, name) })).origin
  const [alone, crowded] = [await serve('alone'), await serve('crowded')]
  const ids = await Promise.all(Array.from({ length: STREAMS }, () => open(crowded)))
  for (const origin of [alone, crowded]) await render(origin)
  const [quiet, busy]: [Flood[], Flood[]] = [[], []]
  const behind: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    quiet.push(await render(alone))
    const following = Promise.all(ids.map(id => follow(crowded, id, behind)))
    await sleep(BEGINNING)
    busy.push(await render(crowded))
    await following
  }
  return [
    { name: 'sessions/streams/delta-p99', figure: percentile(behind, 99), unit: 'ms', details: `from the model to the reader of ${STREAMS} answers with a word each ${GAP} ms, p50 ${percentile(behind, 50).toFixed(2)} ms, ${behind.length} words` },
    beside('sessions/renders-beside-streams', 'p50', busy, quiet, `${RATE} renders a second, beside ${STREAMS} answers that are followed`),
    beside('sessions/renders-beside-streams', 'p99', busy, quiet, 'the same')
  ]
})

async function open (origin: string): Promise<string> {
  const { id } = await (await fetch(`${origin}/api/agents/clock/sessions`, { method: 'POST' })).json() as { readonly id: string }
  return id
}

/** Reads one turn, and notes how far each of its words is behind, in ms. */
async function follow (origin: string, id: string, behind: number[]): Promise<void> {
  const { status, body } = await fetch(`${origin}/api/agents/sessions/${id}/message`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
    body: JSON.stringify({ text: 'What time is it?' })
  })
  if (status !== 200 || body === null) throw new Error(`a turn was answered ${status}`)
  let rest = ''
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    const events = `${rest}${piece}`.split('\n\n')
    const now = Date.now()
    rest = events.pop() ?? ''
    for (const event of events) behind.push(...wordsIn(event).map(sentAt => now - sentAt))
  }
}

/** When the words of an event were sent; none of an event that tells no words live. */
function wordsIn (event: string): number[] {
  if (!event.startsWith('event: live')) return []
  const { type, text = '' } = JSON.parse(event.slice(event.indexOf('data: ') + 6)) as { readonly type: string, readonly text?: string }
  return type === 'llm.delta' ? Array.from(text.matchAll(/\d{13}/g), ([word]) => Number(word)) : []
}
