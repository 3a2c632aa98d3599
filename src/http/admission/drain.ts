import { type Socket } from 'node:net'
import { type App } from '../base/app-types.ts'

/** How long a connection that has sent nothing yet may do so when the server begins to close, in ms. */
const PATIENCE = 500

/**
 * Lets the server close as soon as its last answer is out. Node closes connections that are idle when the server begins
 * to close; one that was busy then would be kept alive after its answer, and the server with it, for a minute. One that has
 * never sent a byte counts as busy, although browsers and balancers open such in advance.
 */
export function drainOnClose (app: App): void {
  let isClosing = false
  const sockets = new Set<Socket>()
  app.server.on('connection', socket => {
    // A connection comes again after each of its upgrades that is served without one.
    if (sockets.has(socket)) return
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', async () => {
    isClosing = true
    setTimeout(() => { for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy() }, PATIENCE).unref()
  })
  app.addHook('onResponse', (_request, _reply, done) => {
    // A turn later: the connection counts as idle when its answer has been dealt with in full.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}
