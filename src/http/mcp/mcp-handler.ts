import { createMcpHandler, type McpHttpHandler, Server } from '@modelcontextprotocol/server'
import { type FastifyReply, type FastifyRequest } from 'fastify'
import { refusalBy } from '../../access/rights-watch.ts'
import { isJsonObject, type Json } from '../../base/json.ts'
import { toAbortSignal } from '../../runtime/caller-signal.ts'
import { EventScanner } from '../../runtime/server-sent-events.ts'
import { type Registry } from '../../registry/registry.ts'
import { abortWhenGone } from '../base/client-gone.ts'
import { holdStream } from '../base/send-events.ts'
import { listChanges } from './list-changes.ts'
import { type McpUses, type Visit } from './visit.ts'
import { ENGINE_VERSION } from '../../base/version.ts'
import { offerCompletions } from './completions.ts'
import { offerPrompts } from './prompts.ts'
import { offerResources } from './resources.ts'
import { offerTools } from './tools.ts'

/**
 * The MCP endpoint: answers requests over HTTP, in the older and the newer form of the MCP protocol. It keeps nothing from one request to
 * the next, except streams that report changes, which stay open.
 */
export class McpEndpoint {
  readonly #uses: McpUses
  readonly #registry: Registry
  /** The open streams, over which MCP clients learn that their lists of prompts or tools have changed. */
  readonly #streams = new Set<McpHttpHandler>()

  constructor (uses: McpUses, registry: Registry) {
    this.#uses = uses
    this.#registry = registry
  }

  /** Answers one request, or opens a stream of changes. @throws TOO_MANY_STREAMS */
  async answer (request: FastifyRequest, reply: FastifyReply): Promise<Response> {
    const body = request.body as Json
    const follows = isJsonObject(body) && body['method'] === 'subscriptions/listen'
    const gone = toAbortSignal(abortWhenGone(reply))
    const revoked = new AbortController()
    const { generation, caller, id: requestId, activity, arrivedAt } = request
    if (follows) holdStream(request, reply)
    const visit: Visit = { generation, caller, requestId, activity, arrivedAt, signal: gone }
    const bus = listChanges({
      generation,
      environs: this.#uses.environs,
      onPublished: listener => this.#registry.onPublished(listener),
      callerNow: () => request.callerNow()
    })
    const handler = createMcpHandler(() => createMcpServer(visit, this.#uses), { bus })
    if (follows) {
      this.#streams.add(handler)
      const leave = this.#uses.rights.watch(() => refusalBy(() => request.callerNow()), () => { revoked.abort() })
      reply.raw.once('close', () => {
        leave()
        this.#streams.delete(handler)
      })
    }
    const response = await handler.fetch(toWebRequest(request, AbortSignal.any([gone, revoked.signal])), { parsedBody: body })
    return follows || takesEvents(request) ? response : await toJsonResponse(response)
  }

  /** Ends all open streams, so that the service can stop. */
  async close (): Promise<void> {
    await Promise.all([...this.#streams].map(handler => handler.close()))
  }
}

/** What a request to MCP may get: the library refuses a client that does not name both, although one is enough for an answer. */
const BOTH = 'application/json, text/event-stream'

/** Makes a web `Request` of a Fastify request, without the body, which is parsed already. */
function toWebRequest ({ headers, url }: FastifyRequest, signal: AbortSignal): Request {
  const known = Object.entries(headers).filter((header): header is [string, string] => typeof header[1] === 'string')
  const accept = headers.accept ?? '*/*'
  const takesOne = /\*\/\*|application\/(?:json|\*)|text\/event-stream/.test(accept)
  return new Request(new URL(url, 'http://localhost'), { method: 'POST', headers: { ...Object.fromEntries(known), accept: takesOne ? BOTH : accept }, signal })
}

function takesEvents ({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/event-stream') === true
}

/** The answer in a stream of events as a reply of JSON, for a client that takes no stream. Nothing but the answer is sent in such a stream. */
async function toJsonResponse (response: Response): Promise<Response> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response
  const scanner = new EventScanner(Infinity, ({ data = '' }) => data)
  const answer = [...scanner.feed(Buffer.from(await response.arrayBuffer())), ...scanner.finish()].findLast(data => data !== '')
  return new Response(answer ?? '', { status: response.status, headers: { 'content-type': 'application/json' } })
}

/** Makes the MCP server that answers one request, with the entries that its caller may see. It has no state, so any replica can answer. */
function createMcpServer (visit: Visit, uses: McpUses): Server {
  const server = new Server({ name: 'ai-prompt-shell', title: 'Prompts', version: ENGINE_VERSION }, {
    capabilities: { prompts: { listChanged: true }, tools: { listChanged: true }, resources: {}, completions: {} },
    instructions: 'Prompts of this service are listed, and rendered with your arguments. render_prompt renders one for a model.'
  })
  offerPrompts(server, visit, uses)
  offerTools(server, visit, uses)
  offerResources(server, visit, uses)
  offerCompletions(server, visit, uses)
  return server
}
