import { type Socket } from 'node:net'
import { type App } from '../base/app-types.ts'

/** The time that a connection without a request yet is left open when the server begins to close, in ms. */
const PATIENCE = 500

/**
 * Lets the server close as soon as its last answer is sent. Node closes only connections that are idle when the server
 * begins to close: a connection that is busy then would stay open for a minute after its answer, and the server with it.
 * Node also counts a connection that has never sent a byte as busy, although browsers and balancers open such in advance.
 */
export function drainOnClose (app: App): void {
  let isClosing = false
  const sockets = new Set<Socket>()
  app.server.on('connection', socket => {
    // The event comes again for a known connection after each upgrade request that was served without an upgrade.
    if (sockets.has(socket)) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    isClosing = true
    setTimeout(() => { for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy() }, PATIENCE).unref()
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    // Node counts the connection as idle only one turn after its answer is sent.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}
