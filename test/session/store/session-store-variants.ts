import { createMemorySessionStore } from '../../../src/session/store/memory-session-store.ts'
import { type SessionStore } from '../../../src/session/store/session-store.ts'

/** How long the stores of the tests keep an ended session, in ms. */
export const KEEP_MS = 60 * 60_000

/** One variant, empty, with what happens around it. */
export interface SessionStoreFixture {
  /** Another one after `clear` and `loseTail`, where only one process may have the sessions. */
  readonly store: SessionStore
  /** Another client of the same sessions, closed with the fixture; the same where only one process may have them. */
  another (): SessionStore
  /** Lets the store's clock go on. */
  step (ms: number): Promise<void>
  /** Lets the last transition of a session be lost, as in a failover or a power cut; left out where that cannot be. */
  loseTail?: (id: string) => Promise<void>
  /** Forgets all sessions. */
  clear (): Promise<void>
  /** Ends the store and what it stands on. */
  remove (): Promise<void>
}

export interface SessionStoreVariant {
  readonly title: string
  open (): Promise<SessionStoreFixture>
}

/** Every variant, for suites that hold for all of them. */
export const VARIANTS: readonly SessionStoreVariant[] = [
  { title: 'memory', open: openMemory }
]

async function openMemory (): Promise<SessionStoreFixture> {
  let time = Date.now()
  const create = () => createMemorySessionStore({ keep: KEEP_MS, now: () => time })
  let store = create()
  return {
    get store () { return store },
    another: () => store,
    async step (ms) { time += ms },
    async clear () { store = create() },
    remove: () => store.close()
  }
}
