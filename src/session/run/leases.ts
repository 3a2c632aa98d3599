import { type Log } from '../../base/log.ts'
import { type Renewed, type SessionStore, SessionStoreError } from '../session-store.ts'

/** How often the store is asked for sessions that are due when it names no earlier time, in ms. */
const POLL = 5000

/** How many sessions are taken at a time. */
const TAKEN = 50

export interface LeasesOptions {
  readonly store: SessionStore
  /** Who drives the sessions. */
  readonly replica: string
  /** How long a replica may be silent before another one takes what it drives, in ms. */
  readonly lease: number
  readonly log: Log
  /** The sessions that this replica drives now. */
  readonly driven: () => readonly string[]
  /** Called with each session that was driven, and how it stands in the store. */
  readonly onRenewed: (renewed: Renewed) => Promise<void>
  /** Called with each session that is this replica's from now on. */
  readonly onTaken: (id: string) => Promise<void>
  /** Keeps work that nobody waits for. */
  readonly track: (work: Promise<void>) => void
}

/** Keeps the sessions that this replica drives, and takes those that are due: nobody drives them, or they have waited too long. */
export class Leases {
  readonly #options: LeasesOptions
  #poll: NodeJS.Timeout | undefined
  #renewal: NodeJS.Timeout | undefined
  #isClosed = false
  /** Why nothing could be taken when it was tried last. */
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
    const { store, replica, lease, log, onTaken, track } = this.#options
    let next: number | undefined
    try {
      const taken = await store.take(replica, TAKEN, lease)
      next = taken.ids.length === TAKEN ? 0 : taken.next
      this.#problem = undefined
      await Promise.all(taken.ids.map(onTaken))
    } catch (error) {
      const { message } = error as Error
      // It is tried again and again, and told once.
      if (message !== this.#problem) log.warn({ reason: message }, 'no sessions could be taken that are due')
      this.#problem = message
    }
    if (this.#isClosed) return
    this.#poll = setTimeout(() => { track(this.#take()) }, Math.min(next ?? POLL, POLL))
    this.#poll.unref()
  }
}
