import { type IncomingHttpHeaders } from 'node:http'

/** What a client has to offer, besides its token, when it offers subprotocols at all. */
export const PROTOCOL = 'ai-prompt-shell.v1'

/** A token as one of the subprotocols: a page can set no other header of an upgrade. */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
