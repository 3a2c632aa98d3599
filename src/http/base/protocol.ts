import { type IncomingHttpHeaders } from 'node:http'

/**
 * The WebSocket subprotocol of this service. A client that offers any subprotocol, such as one with its token, must offer this one, too.
 */
export const PROTOCOL = 'ai-prompt-shell.v1'

/** The only path at which a WebSocket can be opened. */
export const SOCKET_PATH = '/ws'

/**
 * The token that a client offers as a subprotocol `bearer.…`; `undefined` if it offers none. A page in a browser can set no other header of
 * a WebSocket request.
 */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
