import { LRUCache } from 'lru-cache'
import { ENDED, type Head, type Status } from '../../session/model.ts'
import { readShown } from '../../session/session-log.ts'
import { problemIn, titleIn } from '../../session/session.ts'
import { cursorOf } from '../../session/store/session-index.ts'
import type { ListQuery, SessionStore } from '../../session/store/session-store.ts'
import { type Below, withBelow } from './session-tree.ts'

/** `waiting`: for a person, or a session below it does. `open`: not ended. */
export type StatusGroup = Status | 'waiting' | 'open' | 'ended'

export interface SessionQuery extends Omit<ListQuery, 'statuses'> {
  readonly status?: StatusGroup
  /** Words that are all in title, id, definition or problem, in any case of letters. */
  readonly text?: string
}

type ListedHead = Head & Below

const GROUPS: Readonly<Partial<Record<StatusGroup, readonly Status[]>>> = {
  waiting: ['waiting_input', 'waiting_approval', 'running'],
  open: ['waiting_input', 'waiting_approval', 'running'],
  ended: [...ENDED]
}

/** Sessions that one search reads at a time, and in all: then it gives what it has found, and where it goes on. */
const [AT_ONCE, MOST] = [1000, 5000]

/** Of sessions that earlier versions have written, and entries of a log that are read for one. */
const [MAX_OLD, BEGINNING, END] = [10_000, 20, 5]

/** The newest first, by all that a list shows: a search knows each title that is shown, also those that no store keeps. */
export class SessionList {
  readonly #store: SessionStore
  readonly #old = new LRUCache<string, Pick<Head, 'title' | 'problem'>>({ max: MAX_OLD })

  constructor (store: SessionStore) {
    this.#store = store
  }

  /** A page with `next` may have fewer sessions than `limit`, or none. @throws RangeError for a foreign cursor */
  async page ({ status, text = '', ...query }: SessionQuery): Promise<{ readonly heads: readonly ListedHead[], readonly next: string | undefined }> {
    const statuses = status === undefined ? undefined : GROUPS[status] ?? [status as Status]
    const words = text.toLowerCase().split(/\s+/).filter(word => word !== '')
    const isPicky = words.length > 0 || status === 'waiting'
    const found: ListedHead[] = []
    let { cursor, limit } = query
    for (let read = 0; read < MOST; read += limit, limit = Math.min(4 * limit, AT_ONCE, MOST - read)) {
      const page = await this.#store.list({ ...query, statuses, limit, cursor })
      for (const head of await this.#told(page.heads)) {
        if (!isWanted(head, words, status)) continue
        if (found.push(head) === query.limit) return { heads: found, next: head.id === page.heads.at(-1)?.id ? page.next : cursorOf(head) }
      }
      cursor = page.next
      if (cursor === undefined || !isPicky) break
    }
    return { heads: found, next: cursor }
  }

  async #told (heads: readonly Head[]): Promise<ListedHead[]> {
    // Each head of this version has its engine's word.
    return await withBelow(this.#store, await Promise.all(heads.map(head => head.word === undefined ? this.#fromLog(head) : head)))
  }

  async #fromLog (head: Head): Promise<Head> {
    const key = `${head.id}.${head.seq}`
    let known = this.#old.get(key)
    try {
      if (known === undefined) this.#old.set(key, known = { title: await this.#titleOf(head), problem: await this.#problemOf(head) })
    } catch {
      // One log that is damaged must not make the whole list fail: its session has no title.
    }
    return { ...head, ...known }
  }

  async #titleOf ({ id }: Head): Promise<string | undefined> {
    for await (const { seq, fact } of readShown(this.#store, id, 0)) {
      const title = titleIn(fact)
      if (title !== undefined || seq >= BEGINNING) return title
    }
    return undefined
  }

  async #problemOf ({ id, seq, status }: Head): Promise<Head['problem']> {
    let problem: Head['problem']
    if (status === 'completed' || !ENDED.has(status)) return problem
    for await (const { fact, notices } of readShown(this.#store, id, Math.max(0, seq - END))) problem = problemIn(fact, notices) ?? problem
    return problem
  }
}

function isWanted (head: ListedHead, words: readonly string[], status: StatusGroup | undefined): boolean {
  const { id, title = '', definition, problem, childrenWaiting = 0 } = head
  if (status === 'waiting' && head.status === 'running' && childrenWaiting === 0) return false
  if (words.length === 0) return true
  const all = [title, id, definition, problem?.code ?? '', problem?.message ?? ''].join('\n').toLowerCase()
  return words.every(word => all.includes(word))
}
