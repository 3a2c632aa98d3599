import { type IncomingHttpHeaders } from 'node:http'

/** The subprotocol that a client has to offer if it offers any; a token is offered beside it. */
export const PROTOCOL = 'ai-prompt-shell.v1'

/** The token that a client offers as a subprotocol. A page in a browser can set no other header of an upgrade. */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
