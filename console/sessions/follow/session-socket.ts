import { readStream, type StreamEvent } from '../../api/stream.ts'
import { currentToken, tokenGone } from '../../api/token.ts'

/** An event of a session. `seq` is the number of the step, `n` the number of the event within the step. */
export interface SessionEvent { readonly seq: number, readonly n: number, readonly event: string, readonly data: Readonly<Record<string, unknown>> }

/** A live event of a session, such as a piece of an answer. It is not recorded, so only clients that are connected at this moment get it. */
interface LiveEvent { readonly type: string, readonly effect?: string, readonly text?: string, readonly [other: string]: unknown }

interface Follower {
  readonly onEvent: (event: SessionEvent) => void
  readonly onLive: (live: LiveEvent) => void
  readonly onConnection: (isConnected: boolean) => void
}

/** The pause before the socket is opened again, in ms: the first one, and the longest one. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000

/** The code with which the service closes a socket whose token is not valid any more. */
const TOKEN_GONE = 4401

/**
 * The number of failed attempts to open a socket after which the console reads event streams instead, if no socket has ever opened: a proxy
 * may let none pass.
 */
const MOST_ATTEMPTS = 2

/** A session that is followed, and the number of the step of its last event. */
interface Following {
  readonly follower: Follower
  seq: number
  /** Ends the event stream that is read in place of the socket. */
  stopStream?: () => void
}

/**
 * The one socket by which this tab follows its sessions. A browser opens only six connections to one host for HTTP requests, and event
 * streams in many tabs would use them up.
 */
let socket: WebSocket | undefined
let pause = FIRST_PAUSE
let failed = 0
let hasOpened = false
const followed = new Map<string, Following>()

/**
 * Follows a session, and goes on after a broken connection. If the connection breaks within a step, the step's events come twice; `seq` and
 * `n` tell that they are the same.
 * @param after number of the step before the first one that is wanted
 * @returns a function that ends this
 */
export function followSession (id: string, after: number, follower: Follower): () => void {
  const mine: Following = { follower, seq: after }
  followed.set(id, mine)
  if (needsStreams()) stream(id, mine)
  else if (socket?.readyState === WebSocket.OPEN) subscribe(id, after)
  else open()
  return () => {
    mine.stopStream?.()
    if (followed.get(id) !== mine) return
    followed.delete(id)
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ type: 'unsubscribe', sessionId: id }))
  }
}

/** Opens a WebSocket to the service. The token is sent in the list of subprotocols, since a browser can send no header here. */
export function openSocket (): WebSocket {
  const token = currentToken()
  const origin = `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}`
  return new WebSocket(`${origin}/ws`, ['ai-prompt-shell.v1', ...(token === '' ? [] : [`bearer.${token}`])])
}

function open (): void {
  if (socket !== undefined && socket.readyState <= WebSocket.OPEN) return
  const opened = socket = openSocket()
  opened.addEventListener('open', () => {
    pause = FIRST_PAUSE
    hasOpened = true
    for (const [id, { seq, follower }] of followed) {
      subscribe(id, Math.max(0, seq - 1))
      follower.onConnection(true)
    }
  })
  opened.addEventListener('message', ({ data }) => { take(JSON.parse(String(data)) as Frame) })
  opened.addEventListener('close', ({ code, reason }) => {
    failed++
    if (code === TOKEN_GONE) void tokenGone(reason === '' ? 'HTTP 401' : reason, 'TOKEN_UNKNOWN')
    if (needsStreams()) {
      for (const [id, each] of followed) stream(id, each)
      return
    }
    for (const { follower } of followed.values()) follower.onConnection(false)
    if (followed.size > 0) setTimeout(open, pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  })
}

/** Whether sessions are followed by event streams, because no socket has ever opened in several attempts. */
function needsStreams (): boolean {
  return !hasOpened && failed >= MOST_ATTEMPTS
}

function stream (id: string, following: Following): void {
  following.stopStream ??= streamSession(id, following.seq, following.follower)
}

type Frame =
  | { readonly type: 'event', readonly sessionId: string } & SessionEvent
  | { readonly type: 'live', readonly sessionId: string, readonly data: LiveEvent }
  | { readonly type: string, readonly sessionId?: string }

function take (frame: Frame): void {
  const each = followed.get(frame.sessionId ?? '')
  if (each === undefined) return
  if (frame.type === 'event' && 'seq' in frame) {
    each.seq = frame.seq
    each.follower.onEvent(frame)
  } else if (frame.type === 'live' && 'data' in frame) each.follower.onLive(frame.data as LiveEvent)
}

function subscribe (sessionId: string, after: number): void {
  socket?.send(JSON.stringify({ type: 'subscribe', sessionId, after }))
}

/** The pause before the stream is opened again, in ms. */
const PAUSE = 2000

/** A number larger than that of any event in a step: the place `4.999999999` is after all events of step 4. */
const LAST = 999_999_999

/**
 * Follows a session by an event stream, if no socket can be opened. The stream needs one of the few connections that a browser opens to one
 * host, so a page follows only one session at a time.
 * @param after number of the step before the first one that is wanted
 * @returns a function that ends this
 */
function streamSession (id: string, after: number, { onEvent, onLive, onConnection }: Follower): () => void {
  const controller = new AbortController()
  let [isOver, place] = [false, after === 0 ? '' : `${after}.${LAST}`]
  const take = ({ id: at, event = '', data }: StreamEvent) => {
    onConnection(true)
    const known = JSON.parse(data) as Readonly<Record<string, unknown>>
    if (event === 'live') { onLive(known as LiveEvent); return }
    const [seq, n] = (at ?? '').split('.').map(Number)
    if (seq === undefined || n === undefined) return
    place = `${seq}.${n}`
    isOver ||= event === 'done'
    onEvent({ seq, n, event, data: known })
  }
  const follow = async () => {
    for (;;) {
      const address = `/api/sessions/${id}/events${place === '' ? '' : `?after=${place}`}`
      await readStream(new Request(address, { signal: controller.signal }), take).catch(() => {})
      if (isOver || controller.signal.aborted) return
      onConnection(false)
      await new Promise(resolve => { setTimeout(resolve, PAUSE) })
    }
  }
  onConnection(true)
  void follow()
  return () => { controller.abort() }
}
