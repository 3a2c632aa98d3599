import type { paths } from '../../.build/api.d.ts'
import type { Ended } from './outcomes.ts'

/**
 * The items of a dialogue, in the order of time: what was said, the commands and calls, and the sessions that were started. A command or
 * call about which a person has decided is at the place of the decision, and stays there when it ends.
 */
export interface TalkItem {
  readonly key: string
  readonly at: string
  readonly role: Said['role']
  readonly by: string
  readonly text: string
  readonly ran?: Ran
  readonly child?: Child
}

/** A command, or a call of a tool, that ran, was proposed, or was decided about. */
export interface Ran extends Ended {
  /** The command; for a call, the tool and its arguments. */
  readonly words: string
  readonly output: string
  readonly durationMs?: number
}

/** A session that this one has started. */
export interface Child {
  readonly session: string
  readonly name: string
  readonly definition: string
  /** Of the newest event about it: `running` until it has ended. */
  readonly status: string
}

type Data = Readonly<Record<string, unknown>>

type Said = paths['/api/sessions/{id}/messages']['get']['responses']['200']['content']['application/json']['messages'][number]

interface Place { readonly seq: number, readonly n: number }

interface SessionEvent extends Place { readonly event: string, readonly data: Data }

type Placed = TalkItem & Place

/** What the events of a session tell about its commands and calls. */
interface Known {
  readonly byPlace: ReadonlyMap<string, SessionEvent>
  /** By the id of the effect: the first request for a decision, and the decision. */
  readonly requests: ReadonlyMap<string, Data>
  readonly decisions: ReadonlyMap<string, SessionEvent>
  /** The steps with a decision, and those in which a command has ended; `endedCommands` has the step of each command that has ended, by its text. */
  readonly decidedSteps: ReadonlySet<string>
  readonly endedSteps: ReadonlySet<string>
  readonly endedCommands: ReadonlyMap<string, number>
}

/** A proposed command that was decided about or ran is shown only once, without its proposal. */
export function talkItems (said: readonly Said[], events: readonly SessionEvent[]): readonly TalkItem[] {
  const ended = events.filter(({ event, data }) => event === 'command' && (data['phase'] === 'ended' || data['phase'] === 'denied'))
  const approvals = events.filter(({ event }) => event === 'approval')
  const decisions = approvals.filter(({ data }) => typeof data['decision'] === 'string')
  const known: Known = {
    byPlace: new Map(events.map(event => [`${event.seq}.${event.n}`, event])),
    requests: new Map(approvals.filter(({ data }) => data['decision'] === undefined).map(({ data }) => [String(data['effect']), data])),
    decisions: new Map(decisions.map(event => [String(event.data['effect']), event])),
    decidedSteps: new Set(decisions.map(({ data }) => stepOf(data['effect']))),
    endedSteps: new Set(ended.map(({ data }) => stepOf(data['effect']))),
    endedCommands: new Map(said.filter(({ role, command }) => role === 'tool' && command !== undefined).map(({ command, seq }) => [command as string, seq]))
  }
  const items = [...said.flatMap(each => itemsOf(each, known)), ...childItems(events, known.decisions)]
  const shown = new Set(items.map(({ key }) => key))
  const open = decisions.map(event => openItem(event, known)).filter(({ key }) => !shown.has(key))
  return [...items, ...open].sort((a, b) => a.seq - b.seq || a.n - b.n)
}

function itemsOf (each: Said, known: Known): readonly Placed[] {
  const { seq, n, at, by, role, text, command } = each
  const item = { key: `${seq}.${n}`, seq, n, at, role, by, text }
  if (role === 'tool') return [toolItem(item, each, known)]
  if (role !== 'assistant' || command === undefined) return [item]
  const step = String(seq)
  const isShown = known.decidedSteps.has(step) || known.endedSteps.has(step) || (known.endedCommands.get(command) ?? 0) > seq
  if (isShown) return text === '' ? [] : [item]
  return [{ ...item, ran: { words: command, output: '', phase: 'proposed' } }]
}

function toolItem (item: Placed, each: Said, { byPlace, decisions }: Known): Placed {
  const data = byPlace.get(item.key)?.data ?? {}
  const decision = decisions.get(String(data['effect']))
  const ran = whatRan(each, data, decision?.data)
  const text = item.text === ran.output || item.text === ran.outcome || item.text === ran.deniedBy ? '' : item.text
  return { ...item, ...decision === undefined ? {} : placeOf(decision), text, ran }
}

/** What was decided about and has not ended. */
function openItem (event: SessionEvent, { requests }: Known): Placed {
  const { data } = event
  const { kind, tool, command, workspace, arguments: given } = requests.get(String(data['effect'])) ?? {}
  const said = data['command'] ?? command
  const words = typeof said === 'string' ? said : [tool ?? kind, given === undefined ? workspace ?? '' : JSON.stringify(given)].join(' ')
  const text = typeof data['reason'] === 'string' ? data['reason'] : ''
  return { ...placeOf(event), at: String(data['at']), role: 'tool', by: '', text, ran: { words, output: '', phase: 'ended', ...decidedIn(data) } }
}

/** An item that was decided about has the same key before and after it has ended. */
function placeOf ({ seq, n, data }: SessionEvent): Place & { readonly key: string } {
  return { key: `effect ${String(data['effect'])}`, seq, n }
}

function childItems (events: readonly SessionEvent[], decisions: Known['decisions']): readonly Placed[] {
  const items = new Map<string, Placed>()
  for (const event of events) {
    if (event.event !== 'child') continue
    const { seq, n, data } = event
    const { effect, session, name, definition, status, at, message = '' } = data
    const key = decisions.has(String(effect)) ? placeOf(event).key : `child ${String(effect)}`
    const child = { session: String(session), name: String(name), definition: String(definition), status: String(status) }
    items.set(key, { key, seq, n, at: String(at), role: 'tool', by: '', ...items.get(key), text: String(message), child })
  }
  return [...items.values()]
}

function whatRan ({ tool, command, output = '' }: Said, data: Data, decision: Data | undefined): Ran {
  const { arguments: given, passed, outcome, exitCode, durationMs, reason } = data
  if (data['phase'] === 'denied') return { words: command ?? '', output, phase: 'ended', deniedBy: String(reason) }
  const says = typeof outcome === 'string' ? outcome : passed === undefined ? undefined : passed === true ? 'passed' : 'failed'
  return {
    words: command ?? [tool, given === undefined ? '' : JSON.stringify(given)].join(' '),
    output,
    phase: 'ended',
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    outcome: says,
    durationMs: typeof durationMs === 'number' ? durationMs : undefined,
    ...decidedIn(decision)
  }
}

function decidedIn (decision: Data | undefined): Pick<Ended, 'decision' | 'by'> {
  return decision === undefined ? {} : { decision: decision['decision'] === 'reject' ? 'reject' : 'approve', by: String(decision['by']) }
}

/** The number of the step to which an effect belongs: `4` for the effect `4.0`. */
function stepOf (effect: unknown): string {
  return String(effect).split('.')[0] ?? ''
}
