import { type IncomingMessage, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { writeHaiku } from './haiku.ts'
import { type Project } from './project.ts'
import { search } from './rag.ts'
import { translate } from './translate.ts'

/**
 * REST: `GET /references/{symbol}` gives every line that names a symbol, `POST /translate/zh/en` gives code in English,
 * `POST /rag/search` answers a question, `POST /haiku/generate_haiku` writes a haiku; the last two have a `/health` each.
 */
export async function answerRest (project: Project, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const symbol = /^\/references\/(\w+)$/.exec(request.url ?? '')?.[1]
  if (request.method === 'GET' && symbol !== undefined) return reply(response, 200, { symbol, references: project.references(symbol) })
  switch (`${request.method} ${request.url}`) {
    case 'POST /translate/zh/en': {
      const { code } = await json(request) as { code: string }
      return reply(response, 200, { translated_code: translate(code) })
    }
    case 'GET /rag/health':
    case 'GET /haiku/health':
      return reply(response, 200, { status: 'ok' })
    case 'POST /rag/search': {
      const { question, top_k: topK } = await json(request) as { question: string, top_k: number }
      return reply(response, 200, search(question, topK))
    }
    case 'POST /haiku/generate_haiku': {
      const { theme } = await json(request) as { theme: string }
      return reply(response, 200, writeHaiku(theme))
    }
    default:
      return reply(response, 404, { error: `there is no ${request.method} ${request.url} here; examples/tool-server/rest.ts has what there is` })
  }
}

function reply (response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'content-type': 'application/json' })
  response.end(JSON.stringify(body))
}
