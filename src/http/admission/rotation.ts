import { setTimeout as sleep } from 'node:timers/promises'
import { type App } from '../base/app-types.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether a load balancer should still send requests to this process; see the class. */
    rotation: Rotation
  }
}

/** The time after a readiness check for which the service counts as watched, in ms. */
const WATCHED_WITHIN = 60_000

/** The shortest time between two messages to the other processes about readiness checks, in ms. */
const NOTIFY_INTERVAL = 5000

/**
 * Whether a load balancer should send requests to this process. A process that is about to stop leaves the rotation first,
 * while it still answers: else the balancer, and clients with open connections, would send requests to a closed port.
 */
export class Rotation {
  readonly #notifySiblings: () => void
  #isLeaving = false
  #askedAt = -Infinity
  #notifiedAt = -Infinity

  /** Begins as a part of the rotation. @param notifySiblings tells the other processes of the service, if there are any, that readiness is checked */
  constructor (notifySiblings: () => void) {
    this.#notifySiblings = notifySiblings
  }

  /** Whether the process is leaving the rotation: a balancer should send it no more requests. */
  get isLeaving (): boolean {
    return this.#isLeaving
  }

  /** Notes that readiness of this process was checked. */
  asked (): void {
    this.siblingAsked()
    if (this.#askedAt - this.#notifiedAt < NOTIFY_INTERVAL) return
    this.#notifiedAt = this.#askedAt
    this.#notifySiblings()
  }

  /** Notes that readiness was checked, of this process or of another behind the same port: a balancer sees only the port. */
  siblingAsked (): void {
    this.#askedAt = performance.now()
  }

  /**
   * Leaves the rotation, and waits until balancers have noticed; does not wait when readiness was not checked lately.
   * @param delay how long to wait, in ms
   */
  async leave (delay: number): Promise<void> {
    this.#isLeaving = true
    if (performance.now() - this.#askedAt < WATCHED_WITHIN) await sleep(delay)
  }
}

/** Closes connections after their replies once the process is leaving, so that clients connect to another process. */
export function closeConnectionsWhenLeaving (app: App, rotation: Rotation): void {
  app.decorate('rotation', rotation)
  app.addHook('onRequest', (_request, reply, done) => {
    if (rotation.isLeaving) reply.header('connection', 'close')
    done()
  })
}
