import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { paths } from '../../../.build/api.d.ts'
import { api, take } from '../../api/client.ts'
import { followSession, type SessionEvent } from './session-socket.ts'

export type Session = paths['/api/sessions/{id}']['get']['responses']['200']['content']['application/json']

/** A text that the model or a command is writing. Once it is written, it is kept until its message has been read. */
export interface LiveText {
  /** The effect id of the command that prints the text; empty for the model. */
  readonly effect: string
  readonly text: string
  /** The number of the step whose message has the text; left out while the text is being written. */
  readonly step?: number
}

/** A session as its page shows it: its state, its events, its messages, and the text that is being written now. */
export interface Followed {
  readonly query: UseQueryResult<Session>
  /** The events of the session, beginning with the step of the first message that is shown. */
  readonly events: readonly SessionEvent[]
  readonly said: readonly Said[]
  /** Whether the session has earlier messages that were not read yet; `readEarlier` reads them. */
  readonly hasEarlier: boolean
  readonly readEarlier: () => Promise<void>
  /** The texts that are being written now, or whose message was not read yet. */
  readonly live: readonly LiveText[]
  readonly isConnected: boolean
  /** When the last event has come, in ms since 1970. */
  readonly heardAt: number
}

/** The largest length of the live text of one effect that is kept, in UTF-16 units. */
const MOST_LIVE = 256 * 1024

/** How long events are collected before the screen changes, in ms. */
const GATHER = 40

/** The events that end a live text. Their step has a message with the text, which is read after the event has come. */
const ENDS = ['stdout', 'message', 'command']

export function useSession (id: string): Followed {
  const [{ events, live }, setHeard] = useState<{ readonly events: readonly SessionEvent[], readonly live: readonly LiveText[] }>({ events: [], live: [] })
  const [isConnected, setConnected] = useState(true)
  const [heardAt, setHeardAt] = useState(Date.now())
  const known = useRef(new Map<string, SessionEvent>())
  const query = useQuery({ queryKey: ['session', id], queryFn: () => take(api.GET('/api/sessions/{id}', { params: { path: { id } } })), staleTime: 0 })
  const { after, ...dialogue } = useSaid(id, events.length)
  const refetch = query.refetch
  const lastRead = dialogue.said.at(-1)?.seq ?? 0
  const read = useRef(lastRead)
  read.current = lastRead

  useEffect(() => {
    if (after === undefined) return
    const texts = new Map<string, string>()
    let written: readonly LiveText[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    let hasEvents = false
    const later = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        written = unread(written, read.current)
        setHeard({ events: inOrder(known.current), live: [...written, ...[...texts].map(([effect, text]) => ({ effect, text }))] })
        setHeardAt(Date.now())
        // Words that are being written change nothing of the session.
        if (hasEvents) void refetch()
        hasEvents = false
      }, GATHER)
    }
    const stop = followSession(id, after, {
      onEvent: event => {
        known.current.set(`${event.seq}.${event.n}`, event)
        hasEvents = true
        const effect = event.event === 'command' ? String(event.data['effect']) : ''
        const text = texts.get(effect)
        if (ENDS.includes(event.event) && text !== undefined) {
          texts.delete(effect)
          // Without this, the text would be gone from the page until its message is read.
          written = [...written, { effect, text, step: event.seq }]
        }
        if (event.event === 'done') texts.clear()
        later()
      },
      onLive: ({ type, effect = '', text = '' }) => {
        const key = type === 'command.output' ? effect : ''
        if (type === 'llm.reset') texts.delete(key)
        else if (type === 'command.output' || type === 'llm.delta') texts.set(key, `${texts.get(key) ?? ''}${text}`.slice(-MOST_LIVE))
        else return
        later()
      },
      onConnection: setConnected
    })
    return () => {
      stop()
      clearTimeout(timer)
    }
  }, [id, after, refetch])
  return { query, events, ...dialogue, live: useMemo(() => unread(live, lastRead), [live, lastRead]), isConnected, heardAt }
}

/** The texts that are still being written, or whose message comes after the last one that was read. */
function unread (texts: readonly LiveText[], lastRead: number): readonly LiveText[] {
  return texts.filter(({ step }) => step === undefined || step > lastRead)
}

/** Sorts events by step and number, since earlier ones may come later. */
function inOrder (known: ReadonlyMap<string, SessionEvent>): readonly SessionEvent[] {
  return [...known.values()].sort((a, b) => a.seq - b.seq || a.n - b.n)
}
export type Said = paths['/api/sessions/{id}/messages']['get']['responses']['200']['content']['application/json']['messages'][number]

/** The messages of a session that were read so far. */
interface Dialogue {
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
function useSaid (id: string, count: number): Dialogue {
  const [dialogue, setDialogue] = useState<Omit<Dialogue, 'readEarlier'>>(NOTHING)
  const reading = useRef({ isBusy: false, isWanted: false })
  const all = useRef<readonly Said[]>([])
  const isRead = dialogue.after !== undefined
  const [failed, setFailed] = useState(0)

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
        const { messages, next } = await readPage(id, { limit: PAGE, after: last === undefined ? undefined : `${last.seq}.${last.n}` })
        if (messages.length === 0) continue
        all.current = [...all.current, ...messages]
        if (next === undefined) setDialogue(before => ({ ...before, said: all.current }))
        else now.isWanted = true
      }
    }
    let timer: ReturnType<typeof setTimeout> | undefined
    read().catch(() => { timer = setTimeout(() => { setFailed(times => times + 1) }, PAUSE) }).finally(() => { now.isBusy = false })
    return () => { clearTimeout(timer) }
  }, [id, count, isRead, failed])

  const readEarlier = async () => {
    const [first] = all.current
    if (first === undefined) return
    const earlier: Said[] = []
    for (let after: string | undefined; ;) {
      const { messages, next } = await readPage(id, { limit: PAGE, after })
      earlier.push(...messages.filter(message => isBefore(message, first)))
      after = next
      if (next === undefined || !messages.every(message => isBefore(message, first))) break
    }
    all.current = [...earlier, ...all.current]
    setDialogue({ said: all.current, hasEarlier: false, after: 0 })
  }
  return { ...dialogue, readEarlier }
}

async function readPage (id: string, query: { readonly limit: number, readonly after?: string, readonly last?: boolean }) {
  return await take(api.GET('/api/sessions/{id}/messages', { params: { path: { id }, query } }))
}

function isBefore (one: Said, other: Said): boolean {
  return one.seq < other.seq || (one.seq === other.seq && one.n < other.n)
}
