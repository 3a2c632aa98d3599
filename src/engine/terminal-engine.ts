import { type JsonObject, objectOf } from '../base/json.ts'
import { type Engine, type LaterFact, type Moment, type Next } from '../session/engine.ts'
import { Outbox } from './reducer.ts'
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
    const outbox = new Outbox(moment)
    const shell = outbox.openShell({ target, cols, rows })
    emitState(outbox, 'open', { target, by: owner })
    return next({ target, at, shell, word: 'open', reason: '', exitCode: null }, outbox)
  },
  next (state, fact, moment) {
    if (!('effect' in fact) || fact.effect !== state.shell) return next(state, new Outbox(moment))
    return ended(state, fact, moment)
  },
  view: ({ target, at, word, reason, exitCode }) => ({
    stateName: word,
    outcome: word === 'open' ? 'open' : word === 'done' ? 'completed' : 'failed',
    result: { target, at, reason, exitCode },
    progress: { title: target }
  }),
  refuses: () => ({ kind: 'busy', message: 'what a terminal is told goes over its socket' })
}

function ended (state: TerminalSession, fact: LaterFact, moment: Moment): Next<TerminalSession> {
  const outbox = new Outbox(moment)
  switch (fact.kind) {
    case 'result': {
      const { reason = '', exitCode = null } = objectOf(fact.result)
      const isExit = reason === 'exit'
      const why = isExit ? `the shell has ended with code ${String(exitCode)}` : String(reason)
      return end(state, outbox, { word: isExit ? 'done' : 'failed', reason: why, exitCode: typeof exitCode === 'number' ? exitCode : null })
    }
    case 'unknown': return end(state, outbox, { word: 'failed', reason: LOST, exitCode: null }, 'TERMINAL_LOST')
    case 'failure': return end(state, outbox, { word: 'failed', reason: fact.message, exitCode: null }, fact.code)
    case 'refused': return end(state, outbox, { word: 'failed', reason: fact.reason, exitCode: null }, 'REFUSED')
    default: return next(state, outbox)
  }
}

function end (state: TerminalSession, outbox: Outbox, how: Pick<TerminalSession, 'word' | 'reason' | 'exitCode'>, code?: string): Next<TerminalSession> {
  const { target } = state
  emitState(outbox, 'closed', { target, reason: how.reason, exitCode: how.exitCode })
  if (code !== undefined) outbox.notice('error', { code, message: how.reason })
  return next({ ...state, ...how }, outbox)
}

function emitState (outbox: Outbox, state: 'open' | 'closed', more: JsonObject): void {
  outbox.notice('terminal', { terminalId: outbox.session, state, ...more })
  const event = `terminal_${state}`
  outbox.notice('log', { prefix: 'terminal', level: 'info', text: event, event, serverId: more['target'] ?? '' })
}

function next (state: TerminalSession, outbox: Outbox): Next<TerminalSession> {
  return { state, effects: outbox.effects, notices: outbox.notices }
}
