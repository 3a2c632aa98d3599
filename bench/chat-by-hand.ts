// A chat with one prompt that is written by hand, in Fastify and undici: it checks, logs and counts as the service does,
// with its own modules, and passes the reply on. It has no retries, no timeouts and no errors, so it shows how near to the
// minimal proxy a service can come that has them.
import { type Readable } from 'node:stream'
import { Pool } from 'undici'
import { ChatBody } from '../src/http/prompt-request.ts'
import { PromptId } from '../src/http/schemas.ts'
import { type JsonObject } from '../src/base/json.ts'
import { usageOfReply, usageOfStream } from '../src/llm/usage.ts'
import { createYardstickApp, listenAsYardstick, REVISION } from './yardstick-app.ts'

const PROMPT = 'bench'

const DEFAULT_PROVIDER = { name: 'default', attributes: {} }

const upstream = new Pool(process.env['UPSTREAM'] ?? '', { connections: null })
const app = createYardstickApp()

app.post('/api/chat/prompts/:id', { schema: { params: PromptId, body: ChatBody } }, async (request, reply) => {
  const { variables, ...fields } = request.body as { readonly variables: { readonly word: string }, readonly stream: boolean, readonly model?: string }
  request.activity.beginRender(PROMPT, REVISION).ended('ok', 1)
  const asked = { ...fields, messages: [{ role: 'user', content: `Say ${variables.word} and go on for a hundred words.` }] }
  const watch = request.activity.beginModelCall('chat', DEFAULT_PROVIDER, asked.model, asked.stream)
  const { body } = await upstream.request({ method: 'POST', path: '/v1/chat/completions', headers: { 'content-type': 'application/json' }, body: JSON.stringify(asked) })
  if (asked.stream) return reply.type('text/event-stream').send(counted(body, bytes => watch.streamed('complete', usageOfStream(asked, { outcome: 'complete', bytes }))))
  const text = await body.text()
  const completion = JSON.parse(text) as JsonObject
  watch.replied(usageOfReply(asked, completion), completion)
  return reply.type('application/json; charset=utf-8').send(text)
})

/** The same stream, whose end tells how long it was. */
function counted (stream: Readable, ended: (bytes: number) => void): Readable {
  let bytes = 0
  stream.on('data', (piece: Buffer) => { bytes += piece.length })
  stream.on('end', () => ended(bytes))
  return stream
}

await listenAsYardstick(app)
