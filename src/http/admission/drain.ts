import { type Socket } from 'node:net'
import { type App } from '../base/app-types.ts'

/** How long a connection on which no byte has arrived stays open after the server began to close, in ms. */
const PATIENCE = 500

/**
 * Lets the server close as soon as its last answer is sent. Node closes only connections that are idle when the server begins to close; a
 * connection that is busy at that moment would stay open for a minute after its answer, and the server would wait for it. Node also counts
 * a connection on which no byte has arrived as busy, and browsers and load balancers open such connections in advance.
 */
export function drainOnClose (app: App): void {
  let isClosing = false
  const sockets = new Set<Socket>()
  app.server.on('connection', socket => {
    // Node emits `connection` again for a known connection after each upgrade request that was served without an upgrade.
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
