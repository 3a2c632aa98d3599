import { type FastifyRequest } from 'fastify'
import { type WebSocket } from 'ws'
import { type Rates } from '../../access/rates.ts'
import { refusalBy, type RightsWatch } from '../../access/rights-watch.ts'
import { type ServiceError, tooManySockets } from '../../base/errors.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type App } from '../base/app-types.ts'
import { SOCKET_PATH } from '../base/protocol.ts'
import { checkOrigin } from '../security/browser-guard.ts'
import { type Client, clientOf } from './client.ts'
import { openSocketFrames, type SocketServices } from './socket-frames.ts'
import { SocketConnection, TOKEN_GONE, UNAUTHORIZED } from './socket-connection.ts'

/** The most open sockets, of all callers together and of one caller. */
const [MAX_SOCKETS, MAX_OF_CALLER] = [1000, 50]

export type SocketOptions = SocketServices & {
  readonly rates: Rates
  readonly rights: RightsWatch
  readonly registry: { readonly generation: Generation }
}

/**
 * The route `/ws`: sessions and terminals over a WebSocket. @param origins further origins whose pages may connect, beside the service's
 * own
 */
export function socketRoutes (app: App, services: SocketOptions, origins: readonly string[]): void {
  const allowed = { origins: new Set(origins) }
  /** The open connections, each with the name of its caller. */
  const open = new Map<SocketConnection, string>()

  function checkRoom (name: string): void {
    const ofCaller = [...open.values()].filter(each => each === name).length
    if (open.size >= MAX_SOCKETS || ofCaller >= MAX_OF_CALLER) throw tooManySockets(MAX_OF_CALLER)
  }

  app.get(SOCKET_PATH, {
    websocket: true,
    config: { role: 'run', orRole: 'terminal' },
    onRequest (request, _reply, done) {
      try {
        // Browsers let any page open a WebSocket to any host, whatever CORS says, so the service itself must check the origin.
        checkOrigin(request.headers, allowed)
        checkRoom(request.caller.name)
        done()
      } catch (error) {
        done(error as Error)
      }
    }
  }, (socket: WebSocket, request: FastifyRequest) => {
    const client = clientOf(request, services.registry)
    const connection = new SocketConnection(socket, { client, rates: services.rates, log: request.log })
    open.set(connection, request.caller.name)
    const leave = services.rights.watch(() => whyGone(client), ({ message }) => { connection.close(TOKEN_GONE, message) })
    socket.once('close', () => {
      leave()
      open.delete(connection)
    })
    connection.serve(openSocketFrames({ connection, client, log: request.log, services }))
  })
}

/** The reason to close a client's socket: its token is unknown by now. A token that has lost its roles keeps the socket, and is refused each frame. */
function whyGone (client: Client): ServiceError | undefined {
  const refusal = refusalBy(() => client.caller())
  return refusal?.statusCode === UNAUTHORIZED ? refusal : undefined
}
