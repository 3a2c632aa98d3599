import { currentToken, tokenRefused } from '../../api/token.ts'
import { streamSession } from './session-stream.ts'

/** Something that has happened in a session, the n-th of a step. */
export interface SessionEvent { readonly seq: number, readonly n: number, readonly event: string, readonly data: Readonly<Record<string, unknown>> }

/** What is told only to those who listen. */
export interface LiveEvent { readonly type: string, readonly effect?: string, readonly text?: string, readonly [other: string]: unknown }

export interface Follower {
  readonly onEvent: (event: SessionEvent) => void
  readonly onLive: (live: LiveEvent) => void
  readonly onConnection: (isConnected: boolean) => void
}

/** Pauses before the socket is opened again, in ms. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000

/** The code of a socket whose token is gone. */
const TOKEN_GONE = 4401

/** After so many attempts of which none came through, a proxy is between that lets no socket pass. */
const MOST_ATTEMPTS = 2

/** A session that is followed, and the last step that was heard of. */
interface Following {
  readonly follower: Follower
  seq: number
  /** Ends the event stream that takes the socket's place. */
  stopStream?: () => void
}

/** The one socket of this tab: a browser opens only six other connections to a host, and many tabs would use them up. */
let socket: WebSocket | undefined
let pause = FIRST_PAUSE
let failed = 0
let hasOpened = false
const followed = new Map<string, Following>()

/**
 * Follows a session, over cuts too; gives what ends it. A step that a cut has parted comes again, and is known by its place.
 * @param after number of the step before the first that is wanted
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

/** The address of the service's socket, and what a browser offers there: it can send no header. */
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
    if (code === TOKEN_GONE) tokenRefused(reason === '' ? 'HTTP 401' : reason)
    if (needsStreams()) {
      for (const [id, each] of followed) stream(id, each)
      return
    }
    for (const { follower } of followed.values()) follower.onConnection(false)
    if (followed.size > 0) setTimeout(open, pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  })
}

/** Whether no socket has ever come through. */
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
