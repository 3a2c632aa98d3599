// A model's API that answers at once: the `model` of a request says how. `json-10` answers after 10 ms, `stream-5` sends
// its events 5 ms apart, `stream-0` each in a turn of the event loop of its own. The words of `clock-50` are 50 ms apart for
// some seconds, and each is the time at which it is sent, in ms since 1970.
import { createServer, type ServerResponse } from 'node:http'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { listen } from './listen.ts'

/** Events with text in a stream, the finish and the `[DONE]` left out. */
const EVENTS = 20

/** How long a clock goes, in ms. */
const CLOCK = 8000

const head = { id: 'chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT', created: 1741569952, model: 'gpt-4.1-2025-04-14' }
const completion = Buffer.from(JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: 'word '.repeat(100), refusal: null }, logprobs: null, finish_reason: 'stop' }],
  usage: { prompt_tokens: 19, completion_tokens: 100, total_tokens: 119 }
}))
const chunk = (delta: object, finish: string | null) => `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })}\n\n`
const events = [...Array.from({ length: EVENTS }, (_, index) => chunk({ content: `word ${index} ` }, null)), `${chunk({}, 'stop')}data: [DONE]\n\n`]

const server = createServer((request, response) => {
  let body = ''
  request.on('data', (piece: Buffer) => { body += piece.toString('latin1') })
  request.on('end', () => {
    const [, kind, wait] = /"model":"(json|stream|clock)-(\d+)"/.exec(body) ?? []
    if (kind === 'clock') void sendClock(response, Number(wait))
    else if (kind === 'stream') void sendStream(response, Number(wait))
    else if (wait === '0') sendCompletion(response)
    else setTimeout(() => sendCompletion(response), Number(wait))
  })
})

function sendCompletion (response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': completion.length })
  response.end(completion)
}

async function sendStream (response: ServerResponse, gap: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    response.write(event)
    await (gap === 0 ? nextTurn() : sleep(gap))
  }
  response.end()
}

/** Each clock begins somewhere between two of its words, as models do that know nothing of each other. */
async function sendClock (response: ServerResponse, gap: number): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (let due = performance.now() + Math.random() * gap, left = Math.floor(CLOCK / gap); left > 0; left--, due += gap) {
    await sleep(Math.max(0, due - performance.now()))
    response.write(chunk({ content: `${Date.now()} ` }, null))
  }
  response.end(events.at(-1))
}

listen(server)
