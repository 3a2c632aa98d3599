import { decodeBytes } from '../../src/store/decode-value.ts'
import { createGatherer, type Gatherer } from '../../src/store/gather.ts'
import { StoreError, type Expected, type Store } from '../../src/store/store.ts'

/** A store inside the process, under the contract of all stores. */
export interface MemoryStore extends Store {
  /** Writes `text`, or raw bytes, under `key`. */
  set (key: string, value: string | Uint8Array): void
  /** Writes `text` under `key`, and tells nobody yet. */
  setSilently (key: string, text: string): void
  /** Removes `key`, if it is there. */
  delete (key: string): void
  /** Has nothing any more and tells of no delete, as a Redis that was started anew. */
  lose (): void
  /** Lets every question fail for this reason from now on, as in an outage; `undefined` ends it. */
  setProblem (reason: string | undefined): void
}

/**
 * Creates a store that holds its values in memory and pushes their changes.
 * @param entries keys and texts to begin with
 */
export function createMemoryStore (entries: Iterable<readonly [string, string]> = []): MemoryStore {
  const values = new Map<string, Buffer>()
  const gatherers = new Set<Gatherer>()
  let problem: string | undefined

  for (const [key, text] of entries) values.set(key, Buffer.from(text))

  function assertUsable (): void {
    if (problem !== undefined) throw new StoreError(problem)
  }

  function tell (key: string): void {
    for (const gatherer of gatherers) gatherer.add(key)
  }

  function set (key: string, value: string | Uint8Array): void {
    values.set(key, Buffer.from(value))
    tell(key)
  }

  function remove (key: string): void {
    if (values.delete(key)) tell(key)
  }

  function isAs (expected: Expected | undefined, known: Buffer | undefined): boolean {
    if (expected === undefined) return true
    return expected.kind === 'missing' ? known === undefined : known?.equals(Buffer.from(expected.text)) === true
  }

  return {
    variant: 'memory',
    set,
    setSilently: (key, text) => { values.set(key, Buffer.from(text)) },
    delete: remove,
    lose () {
      values.clear()
      for (const gatherer of gatherers) gatherer.addAll()
    },
    setProblem (reason) {
      problem = reason
    },
    async * scan (prefix) {
      assertUsable()
      yield [...values.keys()].filter(key => key.startsWith(prefix))
    },
    async has (keys) {
      assertUsable()
      return keys.map(key => values.has(key))
    },
    async read (keys) {
      assertUsable()
      return keys.map(key => {
        const bytes = values.get(key)
        return bytes === undefined ? { kind: 'missing' } : decodeBytes(bytes)
      })
    },
    async write (key, text, expected) {
      assertUsable()
      const known = values.get(key)
      if (!isAs(expected, known)) return 'conflict'
      set(key, text)
      return known === undefined ? 'created' : 'replaced'
    },
    async remove (key, expected) {
      assertUsable()
      const known = values.get(key)
      if (!isAs(expected, known)) return 'conflict'
      remove(key)
      return known === undefined ? 'missing' : 'removed'
    },
    async watch (listener) {
      const gatherer = createGatherer(listener)
      gatherers.add(gatherer)
      return async () => {
        gatherers.delete(gatherer)
        gatherer.stop()
      }
    },
    status: () => problem === undefined
      ? { connected: true, changes: 'pushed' }
      : { connected: false, changes: 'pushed', problem },
    async close () {
      problem = 'the store is closed'
      for (const gatherer of gatherers) gatherer.stop()
      gatherers.clear()
    }
  }
}
