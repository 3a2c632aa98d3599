import { tokenRefused } from '../api/token.ts'
import { openSocket } from '../sessions/follow/session-socket.ts'
import { FIRST_SIZE, type Terminal, type TerminalState } from './terminal-api.ts'

/** The functions that are called with the output and the state of a terminal while the user looks at it. */
export interface TerminalReader {
  /** Called when the connection to the terminal is open. The terminal's last output comes again, before any new output. */
  readonly onAttach: () => void
  readonly onData: (data: string) => void
  readonly onState: (state: TerminalState) => void
  /** Called with an error of the service, in the service's words. */
  readonly onError: (error: FrameError) => void
  /** Called when no more output comes, since the shell has ended or another window has taken over the terminal. */
  readonly onEnd: (reason: string) => void
  readonly onConnection: (isConnected: boolean) => void
}

export interface FrameError { readonly code: string, readonly message: string, readonly details?: Readonly<Record<string, unknown>> }

/** The connection to one terminal. */
export interface TerminalSocket {
  readonly write: (data: string) => void
  readonly resize: (cols: number, rows: number) => void
  /** Closes the connection. The shell goes on. */
  readonly detach: () => void
}

/**
 * The largest number of UTF-16 units of typed text in one frame. A longer text that the user pastes is sent in several frames, each well
 * below the service's limit of 64 KiB.
 */
const MOST_KEYS = 12_000

/**
 * How many times the console connects again when another worker or replica has the terminal, and the pause before each time, in ms. All of
 * them have one port, and the next connection may reach the right one.
 */
const MOST_ATTEMPTS = 20
const ATTEMPT_PAUSE = 500

/** The pause before the socket is opened again, in ms: the first one, and the longest one. */
const FIRST_PAUSE = 500
const LONGEST_PAUSE = 10_000

/** The code with which the service closes a socket whose token is not valid any more. */
const TOKEN_GONE = 4401

type Frame =
  | { readonly type: 'terminal' } & Terminal
  | { readonly type: 'data', readonly data: string }
  | { readonly type: 'close', readonly reason: string }
  | { readonly type: 'error' } & FrameError

/** Attaches to a terminal by a socket of its own, and attaches again after a broken connection. */
export function attachTerminal (id: string, reader: TerminalReader): TerminalSocket {
  let socket: WebSocket | undefined
  let [isOver, isAttached] = [false, false]
  let [pause, attempts] = [FIRST_PAUSE, 0]
  let size = FIRST_SIZE

  function open (): void {
    if (isOver) return
    const opened = socket = openSocket()
    opened.addEventListener('open', () => {
      pause = FIRST_PAUSE
      isAttached = false
      send({ type: 'terminal_attach', terminalId: id, ...size })
    })
    opened.addEventListener('message', ({ data }) => { take(JSON.parse(String(data)) as Frame) })
    opened.addEventListener('close', ({ code, reason }) => {
      if (socket !== opened) return
      reader.onConnection(false)
      if (code === TOKEN_GONE) tokenRefused(reason === '' ? 'HTTP 401' : reason)
      if (isOver) return
      setTimeout(open, pause)
      pause = Math.min(pause * 2, LONGEST_PAUSE)
    })
  }

  function take (frame: Frame): void {
    if (frame.type === 'data') { reader.onData(frame.data); return }
    if (frame.type === 'close') { end(frame.reason); return }
    if (frame.type === 'error') { refuse(frame); return }
    if (frame.type !== 'terminal') return
    if (!isAttached) {
      isAttached = true
      attempts = 0
      reader.onAttach()
      reader.onConnection(true)
    }
    if (frame.state !== undefined) reader.onState(frame.state)
  }

  function refuse (error: FrameError): void {
    if (error.code === 'TERMINAL_ELSEWHERE' && !isAttached && attempts < MOST_ATTEMPTS) {
      attempts++
      letGo()
      setTimeout(open, ATTEMPT_PAUSE)
      return
    }
    reader.onError(error)
    if (!isAttached) end('')
  }

  function end (reason: string): void {
    isOver = true
    letGo()
    reader.onEnd(reason)
  }

  function letGo (): void {
    const old = socket
    socket = undefined
    old?.close()
  }

  function send (frame: object): void {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(frame))
  }

  open()
  return {
    write (data) {
      for (let from = 0; from < data.length; from += MOST_KEYS) send({ type: 'data', data: data.slice(from, from + MOST_KEYS) })
    },
    resize (cols, rows) {
      size = { cols, rows }
      if (isAttached) send({ type: 'resize', cols, rows })
    },
    detach () {
      isOver = true
      letGo()
    }
  }
}
