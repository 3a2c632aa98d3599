import { useQuery, type UseQueryResult } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { paths } from '../../.build/api.d.ts'
import { api, take } from '../api/client.ts'
import { followSession, type SessionEvent } from './session-socket.ts'

export type Session = paths['/api/sessions/{id}']['get']['responses']['200']['content']['application/json']
export type Said = paths['/api/sessions/{id}/messages']['get']['responses']['200']['content']['application/json']['messages'][number]

/** A session as a screen shows it: how it is, what has happened, what was said, and what is being said. */
export interface Followed {
  readonly query: UseQueryResult<Session>
  readonly events: readonly SessionEvent[]
  readonly said: readonly Said[]
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

export function useSession (id: string): Followed {
  const [{ events, live }, setHeard] = useState<{ readonly events: readonly SessionEvent[], readonly live: ReadonlyMap<string, string> }>({ events: [], live: new Map() })
  const [isConnected, setConnected] = useState(true)
  const [heardAt, setHeardAt] = useState(Date.now())
  const query = useQuery({ queryKey: ['session', id], queryFn: () => take(api.GET('/api/sessions/{id}', { params: { path: { id } } })), staleTime: 0 })
  const said = useSaid(id, events.length)
  const refetch = query.refetch

  useEffect(() => {
    const known = new Map<string, SessionEvent>()
    const texts = new Map<string, string>()
    let timer: ReturnType<typeof setTimeout> | undefined
    const later = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        setHeard({ events: [...known.values()], live: new Map(texts) })
        setHeardAt(Date.now())
        void refetch()
      }, GATHER)
    }
    const stop = followSession(id, {
      onEvent: event => {
        known.set(`${event.seq}.${event.n}`, event)
        // What was said live has come to its end, and stands in what was said.
        if (['stdout', 'message', 'command', 'done'].includes(event.event)) texts.delete(event.event === 'command' ? String(event.data['effect']) : '')
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
  }, [id, refetch])
  return { query, events, said, live, isConnected, heardAt }
}

/** What was said, read on from where it was read to whenever something has happened. */
function useSaid (id: string, count: number): readonly Said[] {
  const [said, setSaid] = useState<readonly Said[]>([])
  const reading = useRef({ isBusy: false, isWanted: false, last: undefined as string | undefined, all: [] as Said[] })
  useEffect(() => {
    const now = reading.current
    now.isWanted = true
    if (now.isBusy) return
    now.isBusy = true
    const read = async () => {
      while (now.isWanted) {
        now.isWanted = false
        const { messages, next } = await take(api.GET('/api/sessions/{id}/messages', { params: { path: { id }, query: { limit: 500, ...(now.last === undefined ? {} : { after: now.last }) } } }))
        const last = messages.at(-1)
        if (last === undefined) continue
        now.last = `${last.seq}.${last.n}`
        now.all.push(...messages)
        if (next === undefined) setSaid([...now.all])
        else now.isWanted = true
      }
    }
    read().catch(() => {}).finally(() => { now.isBusy = false })
  }, [id, count])
  return said
}
