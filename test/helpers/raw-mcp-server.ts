import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo } from 'node:net'
import { type TestContext } from 'node:test'

/** An MCP server that answers calls of its tool, `echo`, as no library would, and that writes `null` for what it does not have, as many do. */
export interface RawMcpServer {
  readonly url: string
  /** How many sessions were begun. */
  sessions (): number
  /** How many calls have come. */
  calls (): number
}

/** Answers a call in whatever way; `id` is that of its JSON-RPC request. */
export type AnswerCall = (response: ServerResponse, id: unknown) => void

/** Answers a client that resumes a stream after an event, or opens the one of notifications. */
export type AnswerResumption = (response: ServerResponse, lastEvent: string | undefined) => void

/** What is offered to a client that sends this header. */
export type OfferTools = (authorization: string | undefined) => readonly object[]

const offerEcho: OfferTools = () => [{ name: 'echo', inputSchema: { type: 'object' } }]

const refuseStream: AnswerResumption = response => { response.writeHead(405).end() }

/** Starts it on a free port; it ends with the test. */
export async function startRawMcpServer (test: Pick<TestContext, 'after'>, answerCall: AnswerCall, answerResumption = refuseStream, offerTools = offerEcho): Promise<RawMcpServer> {
  let [sessions, calls] = [0, 0]
  const server = createServer(async (request, response) => {
    if (request.method === 'GET') return answerResumption(response, request.headers['last-event-id'] as string | undefined)
    if (request.method !== 'POST') return response.writeHead(405).end()
    const { id, method, params } = JSON.parse(Buffer.concat(await request.toArray() as Buffer[]).toString()) as { id?: unknown, method: string, params?: { protocolVersion: string } }
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'tools/call') {
      calls++
      return answerCall(response, id)
    }
    if (method === 'initialize') sessions++
    const results = new Map<string, object>([
      ['initialize', { protocolVersion: params?.protocolVersion, capabilities: { tools: {}, prompts: null }, serverInfo: { name: 'raw', version: '1.0.0', title: null }, instructions: null, _meta: null }],
      ['tools/list', { tools: offerTools(request.headers.authorization), nextCursor: null, _meta: null }],
      ['ping', {}]
    ])
    const result = results.get(method)
    const outcome = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result, error: null }
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `session-${sessions}` }).end(JSON.stringify({ jsonrpc: '2.0', id, ...outcome }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  test.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, sessions: () => sessions, calls: () => calls }
}
