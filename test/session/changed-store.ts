import { type Append, type Appended, type SessionStore, SessionStoreError } from '../../src/session/store/session-store.ts'

/** A store of which some methods are others. */
export function changedStore (store: SessionStore, change: Partial<SessionStore>): SessionStore {
  return new Proxy(store, {
    get (target, name: keyof SessionStore) {
      const own = change[name] ?? target[name]
      return typeof own === 'function' ? own.bind(target) : own
    }
  })
}

/** A store that cannot be reached for a number of appends. */
export interface FailingStore {
  readonly store: SessionStore
  /** The appends that were sent, in order. */
  readonly sent: Append[]
  /** Lets the next appends fail: before they arrive, or when they have. */
  fail (times: number, when: 'before' | 'after'): void
}

export function failingStore (store: SessionStore): FailingStore {
  const sent: Append[] = []
  let [left, when] = [0, 'before']
  return {
    sent,
    fail (times, moment) { [left, when] = [times, moment] },
    store: changedStore(store, {
      async append (append): Promise<Appended> {
        sent.push(append)
        const fails = left-- > 0
        if (fails && when === 'before') throw new SessionStoreError('the store cannot be reached')
        const outcome = await store.append(append)
        if (fails) throw new SessionStoreError('the answer is lost')
        return outcome
      }
    })
  }
}
