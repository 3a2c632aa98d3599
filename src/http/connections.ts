import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from './app.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Tells whether a load balancer should still send requests to this process. */
    rotation: Rotation
  }
}

/** How long after a readiness check the service assumes that a load balancer still checks its readiness, in ms. */
const WATCHED_WITHIN = 60_000

/**
 * How long the port is served at least after the process begins to leave, in ms: clients that no load balancer directs have sent requests by then,
 * and would find them reset.
 */
const LAST_SERVED = 200

/** The turns of the event loop in which that time passes: a process that was not given the CPU meanwhile still takes what waits at its port. */
const TURNS = 10

/** The shortest time between two messages to the other processes about readiness checks, in ms. */
const NOTIFY_INTERVAL = 5000

/**
 * Tells whether a load balancer should send requests to this process, that is, whether the process is in the rotation. A process that is
 * about to stop leaves the rotation first, while it still answers requests. Otherwise the load balancer, and clients with open connections,
 * would send requests to a port that is already closed.
 */
export class Rotation {
  readonly #notifySiblings: () => void
  #isLeaving = false
  #askedAt = -Infinity
  #notifiedAt = -Infinity

  /**
   * Begins with the process in the rotation.
   * @param notifySiblings tells the other processes of the service, if there are any, that readiness is checked
   */
  constructor (notifySiblings: () => void) {
    this.#notifySiblings = notifySiblings
  }

  /** Whether the process is leaving the rotation: a balancer should send it no more requests. */
  get isLeaving (): boolean {
    return this.#isLeaving
  }

  /** Notes that the readiness of this process was checked, and tells the other processes so, at most once in `NOTIFY_INTERVAL`. */
  asked (): void {
    this.siblingAsked()
    if (this.#askedAt - this.#notifiedAt < NOTIFY_INTERVAL) return
    this.#notifiedAt = this.#askedAt
    this.#notifySiblings()
  }

  /**
   * Notes that the readiness of this or another process of the service was checked. The processes share one port, and a load balancer knows
   * only the port.
   */
  siblingAsked (): void {
    this.#askedAt = performance.now()
  }

  /**
   * Takes the process out of the rotation, and waits so that load balancers notice it, and so that what was sent already is answered.
   * @param delay how long to wait where readiness was checked lately, in ms
   */
  async leave (delay: number): Promise<void> {
    this.#isLeaving = true
    const isWatched = performance.now() - this.#askedAt < WATCHED_WITHIN
    const time = isWatched ? Math.max(delay, LAST_SERVED) : LAST_SERVED
    for (let turn = 0; turn < TURNS; turn++) await sleep(time / TURNS)
  }
}

/**
 * Makes the server close each connection after its next reply once the process is leaving the rotation (the processes to which a load
 * balancer sends requests), so that clients connect to another process.
 */
export function closeConnectionsWhenLeaving (app: App, rotation: Rotation): void {
  app.decorate('rotation', rotation)
  app.addHook('onRequest', (_request, reply, done) => {
    if (rotation.isLeaving) reply.header('connection', 'close')
    done()
  })
}

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

/**
 * Closes the replies that wait for earlier replies on a pipelined connection when their client leaves. Node tells only the reply that is
 * being written to the socket (`socketOnClose` in Node's lib/_http_server.js), because the waiting replies have no socket yet. Without this
 * function the service would go on working for the waiting replies, and their requests would never end.
 */
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

/** Closes a reply as Node does when the reply's socket is closed. */
function close (reply: ServerResponse): void {
  reply.destroy()
  reply.emit('close')
}
