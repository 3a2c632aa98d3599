import { type IncomingMessage, type ServerResponse } from 'node:http'
import { type Project } from './project.ts'

/** REST: `GET /references/{symbol}` gives every line that names a symbol. */
export function answerRest (project: Project, request: IncomingMessage, response: ServerResponse): void {
  const symbol = /^\/references\/(\w+)$/.exec(request.url ?? '')?.[1]
  const found = request.method === 'GET' && symbol !== undefined
  response.writeHead(found ? 200 : 404, { 'content-type': 'application/json' })
  response.end(JSON.stringify(found ? { symbol, references: project.references(symbol) } : { error: 'GET /references/{symbol} is all there is' }))
}
