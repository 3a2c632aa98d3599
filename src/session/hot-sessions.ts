import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import { ENDED } from './model.ts'
import { type Session } from './session.ts'

/** The largest number of sessions in the cache. */
const MOST = 1000

/** The largest share of Node's heap that the cache of sessions may take, and its largest size in bytes; the smaller one counts. */
const [HEAP_SHARE, MOST_BYTES] = [1 / 8, 256 * 1024 * 1024]

/** The assumed size of a session in memory, without the texts of its log, in bytes. */
const OWN_BYTES = 4096

/** The time for which an ended session stays in the cache, in ms: its followers still read its last entries. */
const ENDED_FOR = 5000

/** A least-recently-used cache of sessions that were computed from their logs, bounded in number and memory. */
export class HotSessions {
  readonly #sessions = new LRUCache<string, Session>({
    max: MOST,
    maxSize: Math.min(MOST_BYTES, Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE)),
    // Engines keep the texts of the log in memory, where most texts take two bytes per character.
    sizeCalculation: ({ bytes }) => OWN_BYTES + 2 * bytes
  })

  get (id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  /** Gives a cached session, without marking it as recently used. */
  peek (id: string): Session | undefined {
    return this.#sessions.peek(id)
  }

  put (session: Session): void {
    const { id, status } = session
    this.#sessions.set(id, session)
    if (ENDED.has(status)) setTimeout(() => { this.#dropEnded(id) }, ENDED_FOR).unref()
  }

  drop (id: string): void {
    this.#sessions.delete(id)
  }

  #dropEnded (id: string): void {
    const known = this.peek(id)
    if (known !== undefined && ENDED.has(known.status)) this.drop(id)
  }
}
