import { setTimeout as sleep } from 'node:timers/promises'
import { type App } from '../base/app-types.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** Whether the process takes part in the rotation of a balancer. */
    rotation: Rotation
  }
}

/** Who asks for readiness at least this often counts as watching it, in ms. */
const WATCHED_WITHIN = 60_000

/** How often the other processes hear of that at most, in ms. */
const NOTIFY_INTERVAL = 5000

/**
 * Whether this process takes part in the rotation of a balancer. One that is about to stop leaves first, while it still
 * answers everything: else the balancer, and clients with open connections, would send to a port that is closed.
 */
export class Rotation {
  readonly #notifySiblings: () => void
  #isLeaving = false
  #askedAt = -Infinity
  #notifiedAt = -Infinity

  /** @param notifySiblings lets the other processes of the service, if there are any, know that somebody asks for readiness */
  constructor (notifySiblings: () => void) {
    this.#notifySiblings = notifySiblings
  }

  /** Whether a balancer should send nothing more. */
  get isLeaving (): boolean {
    return this.#isLeaving
  }

  /** Somebody has asked this process for readiness. */
  asked (): void {
    this.siblingAsked()
    if (this.#askedAt - this.#notifiedAt < NOTIFY_INTERVAL) return
    this.#notifiedAt = this.#askedAt
    this.#notifySiblings()
  }

  /** Somebody has asked this process or another one behind the same port, which is all that a balancer can see. */
  siblingAsked (): void {
    this.#askedAt = performance.now()
  }

  /**
   * Says that nothing more should be sent, and waits until that has got around. Nobody is waited for when nobody has asked.
   * @param delay in ms
   */
  async leave (delay: number): Promise<void> {
    this.#isLeaving = true
    if (performance.now() - this.#askedAt < WATCHED_WITHIN) await sleep(delay)
  }
}

/** Has clients open their next connection elsewhere once the process is leaving. */
export function closeConnectionsWhenLeaving (app: App, rotation: Rotation): void {
  app.decorate('rotation', rotation)
  app.addHook('onRequest', (_request, reply, done) => {
    if (rotation.isLeaving) reply.header('connection', 'close')
    done()
  })
}
