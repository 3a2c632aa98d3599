import { useEffect, useRef, useState } from 'react'
import type { paths } from '../../../.build/api.d.ts'
import { api, take } from '../../api/client.ts'

type Page = paths['/api/sessions/{id}/messages']['get']['responses']['200']['content']['application/json']
export type Said = Page['messages'][number]

/** The messages of a session that were read so far. */
export interface Dialogue {
  readonly said: readonly Said[]
  /** Whether the session has earlier messages that were not read yet. */
  readonly hasEarlier: boolean
  /** The number of the step before the first message that was read; `undefined` until the newest messages were read. */
  readonly after: number | undefined
  /** Reads all earlier messages. */
  readonly readEarlier: () => Promise<void>
}

/** How many of the newest messages are read first, and how many messages each further request reads. */
const END = 200
const PAGE = 500

/** The pause before the newest messages are requested again after an error, in ms. */
const PAUSE = 2000

const NOTHING = { said: [], hasEarlier: false, after: undefined } as const

/**
 * Reads the messages of a session: the newest ones first, then those that are added whenever events have come.
 * @param count number of the events that have come so far
 */
export function useSaid (id: string, count: number): Dialogue {
  const [dialogue, setDialogue] = useState<Omit<Dialogue, 'readEarlier'>>(NOTHING)
  const reading = useRef({ isBusy: false, isWanted: false })
  const all = useRef<readonly Said[]>([])
  const isRead = dialogue.after !== undefined

  useEffect(() => {
    const gone = new AbortController()
    const read = async () => {
      while (!gone.signal.aborted) {
        try {
          const { messages, hasEarlier = false } = await readPage(id, { last: true, limit: END })
          if (gone.signal.aborted) return
          all.current = messages
          setDialogue({ said: messages, hasEarlier, after: hasEarlier ? Math.max(0, (messages[0]?.seq ?? 1) - 1) : 0 })
          return
        } catch {
          await new Promise(resolve => { setTimeout(resolve, PAUSE) })
        }
      }
    }
    void read()
    return () => { gone.abort() }
  }, [id])

  useEffect(() => {
    const now = reading.current
    now.isWanted = isRead && count > 0
    if (now.isBusy || !now.isWanted) return
    now.isBusy = true
    const read = async () => {
      while (now.isWanted) {
        now.isWanted = false
        const last = all.current.at(-1)
        const { messages, next } = await readPage(id, { limit: PAGE, ...(last === undefined ? {} : { after: `${last.seq}.${last.n}` }) })
        if (messages.length === 0) continue
        all.current = [...all.current, ...messages]
        if (next === undefined) setDialogue(before => ({ ...before, said: all.current }))
        else now.isWanted = true
      }
    }
    read().catch(() => {}).finally(() => { now.isBusy = false })
  }, [id, count, isRead])

  const readEarlier = async () => {
    const [first] = all.current
    if (first === undefined) return
    const earlier: Said[] = []
    for (let after: string | undefined; ;) {
      const { messages, next } = await readPage(id, { limit: PAGE, ...(after === undefined ? {} : { after }) })
      earlier.push(...messages.filter(message => isBefore(message, first)))
      after = next
      if (next === undefined || !messages.every(message => isBefore(message, first))) break
    }
    all.current = [...earlier, ...all.current]
    setDialogue({ said: all.current, hasEarlier: false, after: 0 })
  }
  return { ...dialogue, readEarlier }
}

async function readPage (id: string, query: { readonly limit: number, readonly after?: string, readonly last?: boolean }): Promise<Page> {
  return await take(api.GET('/api/sessions/{id}/messages', { params: { path: { id }, query } }))
}

function isBefore (one: Said, other: Said): boolean {
  return one.seq < other.seq || (one.seq === other.seq && one.n < other.n)
}
