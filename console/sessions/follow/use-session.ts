import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import type { paths } from '../../../.build/api.d.ts'
import { api, take } from '../../api/client.ts'
import { followSession, type SessionEvent } from './session-socket.ts'
import { type Said, useSaid } from './use-said.ts'

export type { Said } from './use-said.ts'
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

interface Heard { readonly events: readonly SessionEvent[], readonly live: readonly LiveText[] }

export function useSession (id: string): Followed {
  const [{ events, live }, setHeard] = useState<Heard>({ events: [], live: [] })
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
    const later = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        written = unread(written, read.current)
        setHeard({ events: inOrder(known.current), live: [...written, ...[...texts].map(([effect, text]) => ({ effect, text }))] })
        setHeardAt(Date.now())
        void refetch()
      }, GATHER)
    }
    const stop = followSession(id, after, {
      onEvent: event => {
        known.current.set(`${event.seq}.${event.n}`, event)
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
