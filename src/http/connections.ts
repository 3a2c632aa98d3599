import type { IncomingMessage, ServerResponse, IncomingHttpHeaders, Server } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { EventEmitter } from 'node:events'
import websocket from '@fastify/websocket'
import type { WebSocket } from 'ws'
import type { App } from './app.ts'

declare module 'fastify' {
  interface FastifyInstance {
    rotation: Rotation
  }
}

/** How long after a readiness check a load balancer is assumed to be watching, in ms. */
const WATCHED_WITHIN = 60_000

/** The least time that the port is served after leaving began, in ms: for requests of clients without a load balancer. */
const LAST_SERVED = 200

/** Turns of the event loop that must pass too: a process that got no CPU meanwhile still takes what waits at its port. */
const TURNS = 10

/** In ms. */
const NOTIFY_INTERVAL = 5000

/** A stopping process leaves the rotation first and still answers; else load balancers would send requests to a closed port. */
export class Rotation {
  readonly #notifySiblings: () => void
  #isLeaving = false
  #askedAt = -Infinity
  #notifiedAt = -Infinity

  constructor (notifySiblings: () => void) {
    this.#notifySiblings = notifySiblings
  }

  get isLeaving (): boolean {
    return this.#isLeaving
  }

  asked (): void {
    this.siblingAsked()
    if (this.#askedAt - this.#notifiedAt < NOTIFY_INTERVAL) return
    this.#notifiedAt = this.#askedAt
    this.#notifySiblings()
  }

  /** The processes share one port, which is all that a load balancer knows: a check of one counts for all. */
  siblingAsked (): void {
    this.#askedAt = performance.now()
  }

  /** Waits so that load balancers notice, and what was sent already is answered. @param delay in ms, where readiness was checked lately */
  async leave (delay: number): Promise<void> {
    this.#isLeaving = true
    const isWatched = performance.now() - this.#askedAt < WATCHED_WITHIN
    const time = isWatched ? Math.max(delay, LAST_SERVED) : LAST_SERVED
    for (let turn = 0; turn < TURNS; turn++) await sleep(time / TURNS)
  }
}

/** While leaving, each connection closes after its next reply, so that clients connect to another process. */
export function closeConnectionsWhenLeaving (app: App, rotation: Rotation): void {
  app.decorate('rotation', rotation)
  app.addHook('onRequest', (_request, reply, done) => {
    if (rotation.isLeaving) reply.header('connection', 'close')
    done()
  })
}

/** How long a connection without a byte stays open once the server closes, in ms. */
const PATIENCE = 500

/** Node closes only idle connections, and counts busy and still silent ones as not idle: they would hold up the close for a minute. */
export function drainOnClose (app: App): void {
  let isClosing = false
  const sockets = new Set<Socket>()
  app.server.on('connection', socket => {
    // Node emits `connection` again after an upgrade request that was served without an upgrade.
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

/** Node closes only the reply being written when its client leaves (`socketOnClose`); those waiting on the pipeline would never end. */
export function closePipelinedReplies (app: App): void {
  const repliesOf = new WeakMap<Socket, Set<ServerResponse>>()

  function open (socket: Socket): Set<ServerResponse> {
    const replies = new Set<ServerResponse>()
    repliesOf.set(socket, replies)
    socket.once('close', () => {
      for (const reply of replies) if (reply.socket === null) close(reply)
    })
    return replies
  }

  app.server.prependListener('request', ({ socket }: IncomingMessage, reply: ServerResponse) => {
    if (reply.socket !== null) return
    const replies = repliesOf.get(socket) ?? open(socket)
    replies.add(reply)
    reply.once('close', () => replies.delete(reply))
  })
}

function close (reply: ServerResponse): void {
  reply.destroy()
  reply.emit('close')
}

/** In bytes. */
const MAX_FRAME = 256 * 1024

/** In ms. */
const GOODBYE = 1000

/** Before all hooks that may refuse: only then the plugin closes a refused upgrade's connection, which Node leaves open. */
export async function acceptSockets (app: App): Promise<void> {
  await app.register(websocket, {
    options: { server: routeOtherUpgrades(app.server), maxPayload: MAX_FRAME, handleProtocols: offered => offered.has(PROTOCOL) ? PROTOCOL : false },
    errorHandler (error, socket, request) {
      // The library `ws` closes the socket with the right code.
      request.log.debug({ err: error }, 'a socket was closed')
      socket.close()
    },
    preClose (done) {
      // What asks from now on is refused with 503: nobody would tell it to leave, and the close would wait for it.
      app.websocketServer.close()
      for (const client of app.websocketServer.clients) leave(client)
      done()
    }
  })
}

/** Also without the client's answer: a closing server waits for every connection. */
function leave (client: WebSocket): void {
  client.close(1001, 'the service is going away')
  setTimeout(() => { client.terminate() }, GOODBYE).unref()
}

/** Other upgrades are served as if not asked for (RFC 9110, 7.8): Java's client asks for h2c, and Node would not read its body. */
function routeOtherUpgrades (server: Server): Server {
  const websockets = new EventEmitter()
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    if (request.headers.upgrade?.toLowerCase() === 'websocket') websockets.emit('upgrade', request, socket, head)
    else serveAgain(server, request, socket, head)
  })
  return websockets as Server
}

/** The head is written again without `upgrade`, in front of the body. */
function serveAgain (server: Server, { method = '', url = '', httpVersion, rawHeaders }: IncomingMessage, socket: Socket, head: Buffer): void {
  const lines = [`${method} ${url} HTTP/${httpVersion}`]
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const [name = '', value = ''] = [rawHeaders[index], rawHeaders[index + 1]]
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${name.toLowerCase() === 'connection' ? value.replace(/\bupgrade\b,?\s*/i, '') : value}`)
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1'), head]))
  server.emit('connection', socket)
}

/** A client that offers any subprotocol, such as one with its token, must offer this one, too. */
const PROTOCOL = 'ai-prompt-shell.v1'

export const SOCKET_PATH = '/ws'

/** From the subprotocol `bearer.…`: a browser's page can set no other header of a WebSocket request. */
export function subprotocolToken (headers: IncomingHttpHeaders): string | undefined {
  const offered = headers['sec-websocket-protocol']?.split(',').map(each => each.trim()) ?? []
  return offered.find(each => each.startsWith('bearer.'))?.slice('bearer.'.length)
}
