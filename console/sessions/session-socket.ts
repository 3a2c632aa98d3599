import { currentToken, tokenRefused } from '../api/token.ts'

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

/** The one socket of this tab: a browser opens only six other connections to a host, and many tabs would use them up. */
let socket: WebSocket | undefined
let pause = FIRST_PAUSE
const followed = new Map<string, { readonly follower: Follower, seq: number }>()

/** Follows a session from its beginning, over cuts too; gives what ends it. A step that a cut has parted comes again, and is known by its place. */
export function followSession (id: string, follower: Follower): () => void {
  const mine = { follower, seq: 0 }
  followed.set(id, mine)
  if (socket?.readyState === WebSocket.OPEN) subscribe(id, 0)
  else open()
  return () => { if (followed.get(id) === mine) followed.delete(id) }
}

function open (): void {
  if (socket !== undefined && socket.readyState <= WebSocket.OPEN) return
  const token = currentToken()
  const opened = socket = new WebSocket(`${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/ws`, ['ai-prompt-shell.v1', ...(token === '' ? [] : [`bearer.${token}`])])
  opened.addEventListener('open', () => {
    pause = FIRST_PAUSE
    for (const [id, { seq, follower }] of followed) {
      subscribe(id, Math.max(0, seq - 1))
      follower.onConnection(true)
    }
  })
  opened.addEventListener('message', ({ data }) => { take(JSON.parse(String(data)) as Frame) })
  opened.addEventListener('close', ({ code, reason }) => {
    for (const { follower } of followed.values()) follower.onConnection(false)
    if (code === TOKEN_GONE) tokenRefused(reason === '' ? 'HTTP 401' : reason)
    if (followed.size > 0) setTimeout(open, pause)
    pause = Math.min(pause * 2, LONGEST_PAUSE)
  })
}

type Frame = { readonly type: 'event', readonly sessionId: string } & SessionEvent | { readonly type: 'live', readonly sessionId: string, readonly data: LiveEvent } | { readonly type: string, readonly sessionId?: string }

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
