import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'
import { type AtEnd } from './shared.ts'
import { type JsonView } from './service.ts'

/** Signs for all receivers of the tests. */
export const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

/** A notice as a receiver gets it. */
export interface Received {
  /** Empty in Slack's form. */
  readonly id: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  readonly body: JsonView
}

/** A receiver of notices on a free port, which takes none whose signature the library of the scheme refuses. */
export interface NoticeServer {
  readonly url: string
  /** In the order of their arrival, with those that were not taken. */
  readonly received: readonly Received[]
  /** What was signed wrongly. */
  readonly refused: readonly string[]
  /** How the next ones are answered. @default 204 */
  answer: (reply: ServerResponse, received: Received) => void
}

export async function startNoticeServer (t: AtEnd): Promise<NoticeServer> {
  const received: Received[] = []
  const refused: string[] = []
  const webhook = new Webhook(SECRET)
  const server = createServer((request, reply) => {
    let text = ''
    request.on('data', (chunk: Buffer) => { text += chunk.toString() })
    request.on('end', () => {
      const id = String(request.headers['webhook-id'] ?? '')
      try {
        if (id !== '') webhook.verify(text, request.headers as Record<string, string>)
      } catch (error) {
        refused.push(`${id}: ${(error as Error).message}`)
      }
      const one = { id, path: request.url ?? '', headers: request.headers, text, body: JSON.parse(text) as JsonView }
      received.push(one)
      notices.answer(reply, one)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const notices: NoticeServer = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    received,
    refused,
    answer: reply => { reply.writeHead(204).end() }
  }
  return notices
}
