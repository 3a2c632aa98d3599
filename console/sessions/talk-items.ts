import { type SessionEvent } from './follow/session-socket.ts'
import { type Said } from './follow/use-session.ts'

/** A command, or a call of a tool, that ran or was proposed. */
export interface Ran {
  /** The command; for a call, the tool and its arguments. */
  readonly words: string
  readonly output: string
  readonly phase: 'proposed' | 'ended' | 'refused'
  readonly exitCode?: number
  readonly outcome?: string
  readonly durationMs?: number
  /** Who allowed or refused it; left out if nobody was asked. */
  readonly allowedBy?: string
  /** Why the operator's rules or the budget kept it from running. */
  readonly deniedBy?: string
}

/** One item of a dialogue: a message, or a command or call that ran or was proposed. */
export interface TalkItem {
  readonly key: string
  readonly at: string
  readonly role: Said['role']
  readonly by: string
  readonly text: string
  readonly ran?: Ran
}

type Data = Readonly<Record<string, unknown>>

/** What the events of a session tell about its commands and calls. */
interface Known {
  readonly byPlace: ReadonlyMap<string, Data>
  /** The decisions by the id of their effect; `decidedSteps` has the first decision of each step. */
  readonly decisions: ReadonlyMap<string, Data>
  readonly decidedSteps: ReadonlyMap<string, Data>
  /** The steps in which a command has ended; `endedCommands` has the step of each command that has ended, by the command's text. */
  readonly endedSteps: ReadonlySet<string>
  readonly endedCommands: ReadonlyMap<string, number>
}

/**
 * Makes the items of a dialogue from its messages and from the session's events. A proposed command that ran is shown only once, as a
 * command that ran.
 */
export function talkItems (said: readonly Said[], events: readonly SessionEvent[]): readonly TalkItem[] {
  const ended = events.filter(({ event, data }) => event === 'command' && (data['phase'] === 'ended' || data['phase'] === 'denied'))
  const decisions = events.filter(({ event, data }) => event === 'approval' && typeof data['decision'] === 'string').map(({ data }) => data)
  const known: Known = {
    byPlace: new Map(events.map(({ seq, n, data }) => [`${seq}.${n}`, data])),
    decisions: new Map(decisions.map(data => [String(data['effect']), data])),
    // A Map keeps the last value of a key. In the reversed list, that is the first decision of the step.
    decidedSteps: new Map(decisions.toReversed().map(data => [stepOf(data['effect']), data])),
    endedSteps: new Set(ended.map(({ data }) => stepOf(data['effect']))),
    endedCommands: new Map(said.filter(({ role, command }) => role === 'tool' && command !== undefined).map(({ command, seq }) => [command as string, seq]))
  }
  return said.flatMap(each => itemsOf(each, known))
}

function itemsOf (each: Said, known: Known): readonly TalkItem[] {
  const { seq, n, at, by, role, text, command } = each
  const item = { key: `${seq}.${n}`, at, role, by, text }
  if (role === 'tool') {
    const ran = whatRan(each, known)
    return [{ ...item, text: text === ran.output || text === ran.outcome || text === ran.deniedBy ? '' : text, ran }]
  }
  if (role !== 'assistant' || command === undefined) return [item]
  const decision = known.decidedSteps.get(String(seq))
  const hasRun = known.endedSteps.has(String(seq)) || (decision === undefined && (known.endedCommands.get(command) ?? 0) > seq)
  if (hasRun) return text === '' ? [] : [item]
  return [{ ...item, ran: { words: command, output: '', phase: decision?.['decision'] === 'reject' ? 'refused' : 'proposed', ...allowedBy(decision) } }]
}

function whatRan ({ seq, n, tool, command, output = '' }: Said, { byPlace, decisions }: Known): Ran {
  const data = byPlace.get(`${seq}.${n}`) ?? {}
  const { arguments: given, passed, outcome, exitCode, durationMs, effect, reason } = data
  if (data['phase'] === 'denied') return { words: command ?? '', output, phase: 'refused', deniedBy: String(reason) }
  const says = typeof outcome === 'string' ? outcome : passed === undefined ? undefined : passed === true ? 'passed' : 'failed'
  return {
    words: command ?? [tool, given === undefined ? '' : JSON.stringify(given)].join(' '),
    output,
    phase: 'ended',
    ...(typeof exitCode === 'number' ? { exitCode } : {}),
    ...(says === undefined ? {} : { outcome: says }),
    ...(typeof durationMs === 'number' ? { durationMs } : {}),
    ...allowedBy(decisions.get(String(effect)))
  }
}

function allowedBy (decision: Data | undefined): Pick<Ran, 'allowedBy'> {
  return decision === undefined ? {} : { allowedBy: String(decision['by']) }
}

/** The number of the step to which an effect belongs: `4` for the effect `4.0`. */
function stepOf (effect: unknown): string {
  return String(effect).split('.')[0] ?? ''
}
