import { type JsonObject, objectOf } from '../base/json.ts'
import { shellEnd } from '../exec/executor.ts'
import { type Engine, type LaterFact } from '../session/engine.ts'
import { Turn } from './reducer.ts'
import { TERMINAL, type TerminalResult, type TerminalStart } from './terminal-key.ts'

interface TerminalSession {
  readonly target: string
  readonly at: string
  readonly shell: string
  readonly word: 'open' | 'done' | 'failed'
  readonly reason: string
  readonly exitCode: number | null
}

const LOST = 'the connection was lost'

/** The log says who opened the terminal, where, when, and why it ended; typed and shown text is never stored. */
export const terminalEngine: Engine<TerminalStart, TerminalSession, TerminalResult> = {
  ...TERMINAL,
  begin ({ setting: { terminal: { target, cols, rows, at } }, owner }, moment) {
    const turn = new Turn<TerminalSession>({ target, at, shell: '', word: 'open', reason: '', exitCode: null }, moment)
    turn.set({ shell: turn.begin('shell', { target, cols, rows }) })
    emitState(turn, 'open', { target, by: owner })
    return turn
  },
  next (state, fact, moment) {
    const turn = new Turn(state, moment)
    if ('effect' in fact && fact.effect === state.shell) onEnded(turn, fact)
    return turn
  },
  view: ({ target, at, word, reason, exitCode }) => ({
    stateName: word,
    outcome: word === 'open' ? 'open' : word === 'done' ? 'completed' : 'failed',
    result: { target, at, reason, exitCode },
    progress: { title: target }
  }),
  refuses: () => ({ kind: 'busy', message: 'what a terminal is told goes over its socket' })
}

function onEnded (turn: Turn<TerminalSession>, fact: LaterFact): void {
  switch (fact.kind) {
    case 'result': {
      const { reason = '', exitCode, signal } = objectOf(fact.result)
      const code = typeof exitCode === 'number' ? exitCode : null
      const isExit = reason === 'exit'
      const why = isExit ? shellEnd({ exitCode: code, signal: typeof signal === 'string' ? signal : undefined }) : String(reason)
      return end(turn, { word: isExit ? 'done' : 'failed', reason: why, exitCode: code })
    }
    case 'unknown': return end(turn, { word: 'failed', reason: LOST, exitCode: null }, 'TERMINAL_LOST')
    case 'failure': return end(turn, { word: 'failed', reason: fact.message, exitCode: null }, fact.code)
    case 'refused': return end(turn, { word: 'failed', reason: fact.reason, exitCode: null }, 'REFUSED')
  }
}

function end (turn: Turn<TerminalSession>, how: Pick<TerminalSession, 'word' | 'reason' | 'exitCode'>, code?: string): void {
  turn.set(how)
  emitState(turn, 'closed', { target: turn.state.target, reason: how.reason, exitCode: how.exitCode })
  if (code !== undefined) turn.emitError(code, how.reason)
}

function emitState (turn: Turn<TerminalSession>, state: 'open' | 'closed', more: JsonObject): void {
  turn.emit('terminal', { terminalId: turn.session, state, ...more })
  const event = `terminal_${state}`
  turn.emit('log', { prefix: 'terminal', level: 'info', text: event, event, serverId: more['target'] ?? '' })
}
