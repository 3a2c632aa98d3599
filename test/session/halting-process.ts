import { type StoredLogEntry, type SessionStore } from '../../src/session/store/session-store.ts'
import { changedStore } from './changed-store.ts'

/** A process of which the test decides when a store hears from it, and it from the store. */
export class HaltingProcess {
  /** The store as the process reaches it. */
  readonly store: SessionStore
  state: 'up' | 'frozen' | 'dead' = 'up'
  /** Settles when the process goes on; never when it was killed. */
  #goesOn: Promise<void> = Promise.resolve()
  #thaw = (): void => {}

  constructor (store: SessionStore) {
    this.store = changedStore(store, {
      append: async each => await this.#after(store.append(await this.#before(each))),
      take: async (...given) => await store.take(...await this.#before(given)),
      renew: async (...given) => await store.renew(...await this.#before(given)),
      head: async id => await store.head(await this.#before(id)),
      read: (id, after) => this.#read(store, id, after)
    })
  }

  freeze (): void {
    if (this.state !== 'up') return
    this.state = 'frozen'
    this.#goesOn = new Promise(resolve => { this.#thaw = resolve })
  }

  thaw (): void {
    if (this.state !== 'frozen') return
    this.state = 'up'
    this.#thaw()
  }

  kill (): void {
    this.freeze()
    this.state = 'dead'
  }

  async goesOn (): Promise<void> {
    await this.#goesOn
  }

  async #before<T> (given: T): Promise<T> {
    await this.#goesOn
    return given
  }

  async #after<T> (answer: Promise<T>): Promise<T> {
    const given = await answer
    await this.#goesOn
    return given
  }

  async * #read (store: SessionStore, id: string, after: number): AsyncGenerator<readonly StoredLogEntry[]> {
    await this.#goesOn
    yield * store.read(id, after)
  }
}
