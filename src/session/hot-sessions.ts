import { getHeapStatistics } from 'node:v8'
import { LRUCache } from 'lru-cache'
import { ENDED } from './model.ts'
import { type Session } from './session.ts'

/** How many sessions are kept at most. */
const MOST = 1000

/** What they may take of the heap, and at most, in bytes. */
const [HEAP_SHARE, MOST_BYTES] = [1 / 8, 256 * 1024 * 1024]

/** What a session takes beside the texts of its log, in bytes. */
const OWN_BYTES = 4096

/** How long one stays that has ended, in ms: those who followed it read how. */
const ENDED_FOR = 5000

/** What folds of logs have come to: of those sessions that were used last, as far as memory goes. */
export class HotSessions {
  readonly #sessions = new LRUCache<string, Session>({
    max: MOST,
    maxSize: Math.min(MOST_BYTES, Math.floor(getHeapStatistics().heap_size_limit * HEAP_SHARE)),
    // What engines keep are the texts of the log, most of them with two bytes a character.
    sizeCalculation: ({ bytes }) => OWN_BYTES + 2 * bytes
  })

  get (id: string): Session | undefined {
    return this.#sessions.get(id)
  }

  /** Gives one without counting as a use. */
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
