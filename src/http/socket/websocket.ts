import { type FastifyRequest } from 'fastify'
import { type WebSocket } from 'ws'
import { type Rates } from '../../access/rates.ts'
import { tooManySockets } from '../../base/errors.ts'
import { type Generation } from '../../registry/generation/generation.ts'
import { type App } from '../base/app-types.ts'
import { checkOrigin } from '../security/browser-guard.ts'
import { clientOf } from './client.ts'
import { openSocketFrames, type SocketServices } from './socket-frames.ts'
import { SocketConnection } from './socket-connection.ts'

/** The most open sockets, of all callers together and of one caller. */
const [MAX_SOCKETS, MAX_OF_CALLER] = [1000, 50]

/** How often the tokens of all open sockets are checked, in ms. So a socket whose token was revoked is closed even if nothing is sent over it. */
const LOOK = 1000

export type SocketOptions = SocketServices & {
  readonly rates: Rates
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

  const looking = setInterval(() => { for (const connection of open.keys()) connection.look() }, LOOK).unref()
  app.addHook('onClose', (_app, done) => {
    clearInterval(looking)
    done()
  })

  app.get('/ws', {
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
    socket.once('close', () => { open.delete(connection) })
    connection.serve(openSocketFrames({ connection, client, log: request.log, services }))
  })
}
