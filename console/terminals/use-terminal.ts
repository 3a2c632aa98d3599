import { useEffect, useRef, useState } from 'react'
import { type Terminal as Screen } from '@xterm/xterm'
import { type TerminalState } from './terminal-api.ts'
import { attachTerminal, type FrameError, type TerminalSocket } from './terminal-socket.ts'

/** The state of a terminal as its page shows it, and the functions that the page calls. */
export interface UsedTerminal {
  readonly state: TerminalState | undefined
  readonly isConnected: boolean
  readonly error: FrameError | undefined
  /** The reason why no more output comes; `undefined` while the terminal is in use. */
  readonly ended: string | undefined
  readonly setScreen: (screen: Screen | undefined) => void
  readonly write: (keys: string) => void
  readonly resize: (cols: number, rows: number) => void
  /** Attaches again, for example to a terminal that another window has taken over. */
  readonly attachAgain: () => void
}

export function useTerminal (id: string): UsedTerminal {
  const [state, setState] = useState<TerminalState>()
  const [isConnected, setConnected] = useState(false)
  const [error, setError] = useState<FrameError>()
  const [ended, setEnded] = useState<string>()
  const [screen, setScreen] = useState<Screen>()
  const [attempt, setAttempt] = useState(0)
  const socket = useRef<TerminalSocket>(undefined)
  useEffect(() => {
    if (screen === undefined) return
    setEnded(undefined)
    setError(undefined)
    const attached = socket.current = attachTerminal(id, {
      onAttach: () => { screen.reset() },
      onData: data => { screen.write(data) },
      onState: setState,
      onError: setError,
      onEnd: setEnded,
      onConnection: setConnected
    })
    attached.resize(screen.cols, screen.rows)
    return () => { attached.detach() }
  }, [id, screen, attempt])
  return {
    state,
    isConnected,
    error,
    ended,
    setScreen,
    write: keys => { socket.current?.write(keys) },
    resize: (cols, rows) => { socket.current?.resize(cols, rows) },
    attachAgain: () => { setAttempt(attempt + 1) }
  }
}
