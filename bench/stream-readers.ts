// Readers of dialogues, in a process of their own. argv: the service's origin, then sessions. Told `turn` over IPC they ask each dialogue, read
// all answers as they come, and tell how far each word was behind when it came: counts by whole ms.
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const [origin = '', ...ids] = process.argv.slice(2)
const agent = new Agent({ keepAlive: true })
const behind: number[] = []

/** A word of the mock is the time at which it was sent; the time of the event itself has other digits. */
const WORD = /\b\d{13}(?= )/g

/** Dialogues begin within this time, in ms: people do not all speak at once. */
const SPREAD = 2000

async function read (id: string): Promise<void> {
  await sleep(Math.random() * SPREAD)
  const asked = request(`${origin}/api/agents/sessions/${id}/message`, { agent, method: 'POST', headers: { 'content-type': 'application/json', accept: 'text/event-stream' } })
  asked.end(JSON.stringify({ text: 'What time is it?' }))
  const [response] = await once(asked, 'response') as [NodeJS.ReadableStream & { readonly statusCode: number }]
  if (response.statusCode !== 200) throw new Error(`a turn was answered ${response.statusCode}`)
  response.setEncoding('utf8')
  response.on('data', (text: string) => {
    // The whole answer comes again behind its words.
    if (!text.startsWith('event: live')) return
    const now = Date.now()
    for (const [word] of text.matchAll(WORD)) note(now - Number(word))
  })
  await once(response, 'end')
}

function note (milliseconds: number): void {
  const at = Math.max(0, milliseconds)
  behind[at] = (behind[at] ?? 0) + 1
}

process.on('message', () => {
  void Promise.all(ids.map(read)).then(() => {
    process.send?.(Array.from(behind, count => count ?? 0))
    behind.length = 0
  })
})
process.send?.('ready')
