import { type App } from './app-types.ts'

/**
 * Lets the server close as soon as its last answer is out. Node closes connections that are idle when the server begins
 * to close; one that was busy then would be kept alive after its answer, and the server with it, for a minute.
 */
export function drainOnClose (app: App): void {
  let isClosing = false
  app.addHook('preClose', async () => { isClosing = true })
  app.addHook('onResponse', (_request, _reply, done) => {
    // A turn later: the connection counts as idle when its answer has been dealt with in full.
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
}
