import cluster from 'node:cluster'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { platform, versions } from 'node:process'
import { type App } from './app-types.ts'

/** Where the service is to be reached. */
export interface Place {
  readonly host: string
  /** 0 for any that is free. */
  readonly port: number
}

/**
 * Sockets that listen at one address. Node accepts one connection from each in a turn of the event loop, and a turn is long while
 * many requests are ready: the last of 64 new connections waited a second (https://github.com/libuv/libuv/issues/3696).
 */
const SOCKETS = 4

/** Systems whose kernel shares connections out among sockets of one port: https://nodejs.org/api/net.html#serverlistenoptions-callback */
const SHARING = ['linux', 'freebsd']

/**
 * Listens, with several sockets where Node and the system can. All connections are the server's: it counts, drains and closes them.
 * @param sockets how many @default as many as are good, one in a worker, whose primary accepts
 * @throws Error of Node, with its `code`, such as EADDRINUSE
 */
export async function listen (app: App, { host, port }: Place, sockets = canShare() ? SOCKETS : 1): Promise<void> {
  if (sockets === 1) {
    await app.listen({ host, port })
    return
  }
  // Sockets that share a port would share it with another service, too: one that does not share says whether it is free.
  if (port !== 0) await probe({ host, port })
  const shared = { host, port, reusePort: true }
  await app.listen(shared)
  const others: Server[] = []
  drainWith(app, others)
  for (const { address, port: chosen } of app.addresses() as AddressInfo[]) {
    for (let count = 1; count < sockets; count++) others.push(await openSocket(app, { host: address, port: chosen }))
  }
}

function canShare (): boolean {
  const [major = 0, minor = 0] = versions.node.split('.').map(Number)
  return !cluster.isWorker && SHARING.includes(platform) && (major > 23 || (major === 23 && minor >= 1) || (major === 22 && minor >= 12))
}

async function probe (place: Place): Promise<void> {
  const server = createServer()
  server.listen({ ...place, exclusive: true })
  await once(server, 'listening')
  server.close()
  await once(server, 'close')
}

/** As Node's HTTP server takes connections, which it may be given: https://nodejs.org/api/http.html#event-connection */
async function openSocket (app: App, place: Place): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket: Socket) => { app.server.emit('connection', socket) })
  server.listen({ ...place, reusePort: true, exclusive: true } as Parameters<Server['listen']>[0])
  await once(server, 'listening')
  return server
}

/** Closes the other sockets with the server's own, and has whoever waits for its end wait for connections of all. */
function drainWith (app: App, others: readonly Server[]): void {
  const { server } = app
  const close = server.close.bind(server)
  server.close = done => {
    const ends = Promise.all(others.map(other => new Promise<void>(resolve => { other.close(() => { resolve() }) })))
    return close(error => { void ends.then(() => done?.(error)) })
  }
}
