import { type ClientRequest, request } from 'node:http'

/**
 * POSTs JSON on a connection of its own and takes whatever comes; destroy it to leave. Not `fetch`, which connects once
 * more after an abort and so keeps the server from closing.
 */
export function postAndLeave (url: string, body: object): ClientRequest {
  const client = request(url, { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } })
  client.on('error', () => {}).on('response', reply => reply.on('error', () => {}).resume())
  return client.end(JSON.stringify(body))
}
