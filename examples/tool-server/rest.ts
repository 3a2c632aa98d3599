import { type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { type Project } from './project.ts'
import { translate } from './translate.ts'

/** REST: `GET /references/{symbol}` gives every line that names a symbol, `POST /translate/zh/en` gives code in English. */
export async function answerRest (project: Project, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const symbol = /^\/references\/(\w+)$/.exec(request.url ?? '')?.[1]
  if (request.method === 'GET' && symbol !== undefined) return reply(response, 200, { symbol, references: project.references(symbol) })
  if (request.method === 'POST' && request.url === '/translate/zh/en') {
    const { code } = await json(request) as { code: string }
    return reply(response, 200, { translated_code: translate(code) })
  }
  reply(response, 404, { error: 'GET /references/{symbol} and POST /translate/zh/en are all there is' })
}

function reply (response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
