import { type IncomingHttpHeaders } from 'node:http'

/** The WebSocket subprotocol, which a client must offer if it offers any, for example beside its token. */
export const PROTOCOL = 'ai-prompt-shell.v1'

/** The token that a client offers as a subprotocol. A page in a browser can set no other header of an upgrade. */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
