import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
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
