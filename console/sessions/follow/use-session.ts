import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { paths } from '../../../.build/api.d.ts'
import { api, take } from '../../api/client.ts'
import { followSession, type SessionEvent } from './session-socket.ts'
import { type Said, useSaid } from './use-said.ts'

export type { Said } from './use-said.ts'
export type Session = paths['/api/sessions/{id}']['get']['responses']['200']['content']['application/json']

/** A session as a screen shows it: how it is, what has happened, what was said, and what is being said. */
export interface Followed {
  readonly query: UseQueryResult<Session>
  /** What has happened, from the first that is shown on. */
  readonly events: readonly SessionEvent[]
  readonly said: readonly Said[]
  /** Whether more was said before, and what reads it. */
  readonly hasEarlier: boolean
  readonly readEarlier: () => Promise<void>
  /** What effects print or say right now, by the effect. */
  readonly live: ReadonlyMap<string, string>
  readonly isConnected: boolean
  /** When something was heard last, in ms since 1970. */
  readonly heardAt: number
}

/** Characters of live text that are kept of each effect. */
const MOST_LIVE = 256 * 1024

/** Time in which events are gathered before the screen changes, in ms. */
const GATHER = 40

/** What brings something that was said live to its end. */
const ENDS = ['stdout', 'message', 'command', 'done']

interface Heard { readonly events: readonly SessionEvent[], readonly live: ReadonlyMap<string, string> }

export function useSession (id: string): Followed {
  const [{ events, live }, setHeard] = useState<Heard>({ events: [], live: new Map() })
  const [isConnected, setConnected] = useState(true)
  const [heardAt, setHeardAt] = useState(Date.now())
  const known = useRef(new Map<string, SessionEvent>())
  const query = useQuery({ queryKey: ['session', id], queryFn: () => take(api.GET('/api/sessions/{id}', { params: { path: { id } } })), staleTime: 0 })
  const { after, ...dialogue } = useSaid(id, events.length)
  const refetch = query.refetch

  useEffect(() => {
    if (after === undefined) return
    const texts = new Map<string, string>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const later = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        setHeard({ events: inOrder(known.current), live: new Map(texts) })
        setHeardAt(Date.now())
        void refetch()
      }, GATHER)
    }
    const stop = followSession(id, after, {
      onEvent: event => {
        known.current.set(`${event.seq}.${event.n}`, event)
        // What was said live has come to its end, and stands in what was said.
        if (ENDS.includes(event.event)) texts.delete(event.event === 'command' ? String(event.data['effect']) : '')
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
  return { query, events, ...dialogue, live, isConnected, heardAt }
}

/** Events as they happened: those of before may have come later. */
function inOrder (known: ReadonlyMap<string, SessionEvent>): readonly SessionEvent[] {
  return [...known.values()].sort((a, b) => a.seq - b.seq || a.n - b.n)
}
