import { type SessionEvent } from './session-socket.ts'
import { type Said } from './use-session.ts'

/** A command or a call that ran, or was to run. */
export interface Ran {
  /** The command, or what was called with what. */
  readonly words: string
  readonly output: string
  readonly phase: 'proposed' | 'ended' | 'refused'
  readonly exitCode?: number
  readonly outcome?: string
  readonly durationMs?: number
  /** Who let it run; undefined for what ran unasked. */
  readonly allowedBy?: string
}

/** One line of a dialogue. */
export interface TalkItem {
  readonly key: string
  readonly at: string
  readonly role: Said['role']
  readonly by: string
  readonly text: string
  readonly ran?: Ran
}

/** A dialogue out of what was said, with what the events know of what ran. What was proposed is shown once: as what became of it. */
export function talkItems (said: readonly Said[], events: readonly SessionEvent[]): readonly TalkItem[] {
  const byPlace = new Map(events.map(event => [`${event.seq}.${event.n}`, event]))
  const decisions = new Map(events.filter(({ event, data }) => event === 'approval' && typeof data['decision'] === 'string').map(({ data }) => [String(data['effect']), data]))
  const ended = new Set(events.filter(({ event, data }) => event === 'command' && data['phase'] === 'ended').map(({ data }) => String(data['effect'])))
  return said.flatMap(({ seq, n, at, by, role, text, tool, command, output }): readonly TalkItem[] => {
    const item = { key: `${seq}.${n}`, at, role, by, text }
    if (role === 'assistant' && command !== undefined) {
      const decision = [...decisions].find(([effect]) => effect.startsWith(`${seq}.`))?.[1]
      if ([...ended].some(effect => effect.startsWith(`${seq}.`)) || (decision === undefined && said.some(later => later.role === 'tool' && later.seq > seq && later.command === command))) return text === '' ? [] : [item]
      return [{ ...item, ran: { words: command, output: '', phase: decision?.['decision'] === 'reject' ? 'refused' : 'proposed', ...(decision === undefined ? {} : { allowedBy: String(decision['by']) }) } }]
    }
    if (role !== 'tool') return [item]
    const data = byPlace.get(`${seq}.${n}`)?.data ?? {}
    const decision = decisions.get(String(data['effect']))
    const words = command ?? [tool, data['arguments'] === undefined ? '' : JSON.stringify(data['arguments'])].join(' ')
    const ran: Ran = {
      words,
      output: output ?? '',
      phase: 'ended',
      ...(typeof data['exitCode'] === 'number' ? { exitCode: data['exitCode'] } : {}),
      ...(typeof data['outcome'] === 'string' ? { outcome: data['outcome'] } : data['passed'] === undefined ? {} : { outcome: data['passed'] === true ? 'passed' : 'failed' }),
      ...(typeof data['durationMs'] === 'number' ? { durationMs: data['durationMs'] } : {}),
      ...(decision === undefined ? {} : { allowedBy: String(decision['by']) })
    }
    return [{ ...item, text: output === undefined ? '' : text === output ? '' : text, ran }]
  })
}
