import { useEffect, useSyncExternalStore } from 'react'
import { useCaller } from './caller.ts'
import { type Failing, queries, untilRead } from './queries.ts'
import { readStream, type StreamEvent } from './stream.ts'

/**
 * The service's stream of events, which tells what has changed and what waits for a person, so that nothing is asked for again and again.
 * Only one tab of the browser reads the stream for a caller, and tells the other tabs: a stream for each tab would use up the few
 * connections that a browser opens to one host.
 */

/** The pause before the stream is opened again, and the silence after which it counts as broken: the service says something every 15 s. In ms. */
const [PAUSE, SILENCE] = [2000, 40_000]

/** The time between two requests for what waits while no events arrive, in ms. */
const FALLBACK = 15_000

/** What a tab tells the others: an event of the stream, what has become of the stream, or (`ask`) that it wants to know this. */
type Word = 'changed' | 'approvals' | 'sessions' | 'here' | 'lost' | 'away' | 'ask'

let isAway = false
const listeners = new Set<() => void>()

/** Whether no events arrive, so that what waits is asked for at intervals. */
export function useIsAway (): boolean {
  return useSyncExternalStore(listen, () => isAway)
}

/** The interval at which a query is repeated whose changes the stream tells. */
export function useFallback (): (query: Failing) => number | false {
  const isAway = useIsAway()
  return query => untilRead(query) || (isAway && FALLBACK)
}

/** Requests shown data again whenever the service tells that it has changed. */
export function useChanges (): void {
  const { name, roles = [] } = useCaller() ?? {}
  const mayFollow = roles.some(role => ['read', 'run', 'approve', 'admin'].includes(role))
  useEffect(() => {
    if (!mayFollow) return
    const controller = new AbortController()
    // Tabs with other tokens are told other events.
    const place = `prompt-shell.changes.${name}`
    const channel = new BroadcastChannel(place)
    let isReader = false
    const tell = (word: Word) => {
      take(word)
      channel.postMessage(word)
    }
    channel.addEventListener('message', ({ data }: MessageEvent<Word>) => {
      if (data !== 'ask') take(data)
      else if (isReader && isAway) channel.postMessage('away')
    })
    channel.postMessage('ask')
    const follow = () => {
      isReader = true
      return readEvents(controller.signal, tell)
    }
    navigator.locks.request(place, { signal: controller.signal }, follow).catch(() => {})
    return () => {
      controller.abort()
      channel.close()
      setAway(false)
    }
  }, [name, mayFollow])
}

/** Reads the stream until the signal aborts, and opens it again whenever it has ended, failed or fallen silent. */
async function readEvents (signal: AbortSignal, tell: (word: Word) => void): Promise<void> {
  while (!signal.aborted) {
    const silent = new AbortController()
    let timer = setTimeout(() => { silent.abort() }, SILENCE)
    let isOpen = false
    const hear = () => {
      clearTimeout(timer)
      timer = setTimeout(() => { silent.abort() }, SILENCE)
      if (!isOpen) tell('here')
      isOpen = true
    }
    const onEvent = ({ event, data }: StreamEvent) => {
      hear()
      if (event === 'changed') tell(event)
      if (event !== 'waiting') return
      const { kinds } = JSON.parse(data) as { readonly kinds: readonly string[] }
      for (const kind of ['approvals', 'sessions'] as const) if (kinds.includes(kind)) tell(kind)
    }
    await readStream(new Request('/api/events', { signal: AbortSignal.any([signal, silent.signal]) }), onEvent, hear).catch(() => {})
    clearTimeout(timer)
    if (signal.aborted) return
    // A stream that has just broken is opened again first: only when that fails do events count as away.
    tell(isOpen ? 'lost' : 'away')
    await new Promise(resolve => { setTimeout(resolve, PAUSE) })
  }
}

function take (word: Word): void {
  if (word === 'here' || word === 'away') setAway(word === 'away')
  if (word === 'lost') void queries.invalidateQueries({ queryKey: ['ready'] })
  if (word === 'changed') void queries.invalidateQueries({ queryKey: ['registry'] })
  // What has changed while no stream was open is told by nobody.
  if (word === 'approvals' || word === 'here') refreshSoon('approvals')
  if (word === 'sessions' || word === 'here') refreshSoon('sessions')
}

/** The shortest time between two requests for the same, in ms: where much goes on, many events come. */
const REST = 1000

/** What was requested within `REST`, and whether it has changed since. */
const resting = new Map<'approvals' | 'sessions', boolean>()

/** Requests the approvals, or the list of sessions and what a session has below it: at once, or after the rest. */
function refreshSoon (kind: 'approvals' | 'sessions'): void {
  if (resting.has(kind)) {
    resting.set(kind, true)
    return
  }
  void queries.invalidateQueries({ predicate: ({ queryKey: [is, , part] }) => is === kind || (kind === 'sessions' && isBelow(is, part)) })
  resting.set(kind, false)
  setTimeout(() => {
    const hasChanged = resting.get(kind) === true
    resting.delete(kind)
    if (hasChanged) refreshSoon(kind)
  }, REST)
}

function isBelow (is: unknown, part: unknown): boolean {
  return is === 'session' && (part === 'tree' || part === 'below')
}

function setAway (away: boolean): void {
  if (isAway === away) return
  isAway = away
  for (const listener of listeners) listener()
}

function listen (listener: () => void): () => void {
  listeners.add(listener)
  return () => { listeners.delete(listener) }
}
