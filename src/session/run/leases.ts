import { type Log } from '../../base/log.ts'
import { type Renewed, type SessionStore, SessionStoreError, type UnknownSession } from '../session-store.ts'

/**
 * The longest time between two requests to the store for sessions that this replica can take over, in ms. The next request comes earlier when the
 * store says that a session can be taken over earlier.
 */
const POLL = 5000

/** The most sessions that a replica asks the store for, to take them over, in one request. */
const TAKEN = 50

export interface LeasesOptions {
  readonly store: SessionStore
  /** The id of this replica (service process), whose leases are renewed. */
  readonly replica: string
  /** The length of a lease, in ms: when a replica was silent for this time, another replica takes over its sessions. */
  readonly lease: number
  readonly log: Log
  /** Gives the ids of the sessions that this replica drives now. */
  readonly driven: () => readonly string[]
  /** Called for each session after its lease was renewed, with what the store says about the session. */
  readonly onRenewed: (renewed: Renewed) => Promise<void>
  /** The engines that this replica has: it takes over no sessions of others. */
  readonly engines: ReadonlySet<string>
  /** Called after each look with the sessions that are due and whose engine this replica does not have. */
  readonly onUnknown: (sessions: readonly UnknownSession[]) => void
  /** Called with the id of each session that this replica has taken over. */
  readonly onTaken: (id: string) => Promise<void>
  /** Whether this replica has left sessions to others lately: it then takes sessions later than others, so that these do not lose them to it again. */
  readonly isBehind: () => boolean
  /** Keeps track of background work, so that closing can wait for it. */
  readonly track: (work: Promise<void>) => void
}

/**
 * Renews the leases of the sessions that this replica (service process) drives. Takes over sessions that are due: those that no replica drives any
 * more, and those that have waited too long for a person.
 */
export class Leases {
  readonly #options: LeasesOptions
  #poll: NodeJS.Timeout | undefined
  #renewal: NodeJS.Timeout | undefined
  #isClosed = false
  /** The error of the last attempt to take sessions, so that a repeated error is logged once. */
  #problem: string | undefined

  constructor (options: LeasesOptions) {
    this.#options = options
  }

  open (): void {
    const { lease, track } = this.#options
    this.#renewal = setInterval(() => { track(this.#renew()) }, lease / 3)
    this.#renewal.unref()
    track(this.#take())
  }

  close (): void {
    this.#isClosed = true
    clearTimeout(this.#poll)
    clearInterval(this.#renewal)
  }

  async #renew (): Promise<void> {
    const { store, replica, lease, log, driven, onRenewed } = this.#options
    const ids = driven()
    if (ids.length === 0) return
    try {
      for (const renewed of await store.renew(replica, ids, lease)) await onRenewed(renewed)
    } catch (error) {
      if (!(error instanceof SessionStoreError)) throw error
      log.warn({ reason: error.message }, 'the sessions of this process could not be renewed')
    }
  }

  async #take (): Promise<void> {
    const { store, replica, lease, log, engines, onUnknown, onTaken, isBehind, track } = this.#options
    let next: number | undefined
    try {
      const taken = await store.take(replica, TAKEN, lease, engines)
      next = taken.ids.length === TAKEN ? 0 : taken.next
      this.#problem = undefined
      onUnknown(taken.unknown ?? [])
      await Promise.all(taken.ids.map(onTaken))
    } catch (error) {
      const { message } = error as Error
      // The attempt is repeated every few seconds, so an equal error is logged only once.
      if (message !== this.#problem) log.warn({ reason: message }, 'no sessions could be taken that are due')
      this.#problem = message
    }
    if (this.#isClosed) return
    this.#poll = setTimeout(() => { track(this.#take()) }, Math.min(next ?? POLL, POLL) + (isBehind() ? lease / 8 : 0))
    this.#poll.unref()
  }
}
