import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import type { SessionEvent } from './follow/session-socket.ts'
import type { Followed, LiveText, Said, Session } from './follow/use-session.ts'
import { type Ended, type OutcomeChip, outcomeChips } from './outcomes.ts'
import { partsOf } from './words.ts'

/** How many of the latest items are shown at first; a button shows more. */
const MOST = 200

/** How near the end of the page must be, in px, for the page to scroll on when items are added. */
const NEAR = 200

/** Shows a dialogue: its messages, its commands, and the text that is being written now. */
export function Talk ({ session, followed, isMain = true, children }: {
  readonly session: Session
  readonly followed: Followed
  readonly isMain?: boolean
  readonly children?: ReactNode
}) {
  const { said, events, live } = followed
  const all = useMemo(() => talkItems(said, events), [said, events])
  // A proposed command that waits for a person is shown in a card, and so not as an item.
  const items = session.status.startsWith('waiting') && all.at(-1)?.ran?.phase === 'proposed' ? all.slice(0, -1) : all
  const [most, setMost] = useState(MOST)
  const name = partsOf(session.definition).name
  const end = useEnd(isMain, items.length, live)
  return (
    <>
      <Earlier hidden={items.length - most} followed={followed} onMore={() => { setMost(most + 4 * MOST) }} />
      {items.length === 0 && live.length === 0 && <p className='quiet'>{t.nothingSaid}</p>}
      <ol className='talk' aria-label={t.dialogue}>
        {items.slice(-most).map(item => <Item key={item.key} item={item} name={name} />)}
        {live.map(written => <Live key={`${written.effect}:${written.step ?? ''}`} written={written} name={name} />)}
        {session.status === 'running' && live.length === 0 && (
          <li>
            <span className='quiet'>{t.now}</span>
            <div><span className='who'>{name}</span> <span className='quiet' role='status'>{t.isAnswering}</span></div>
          </li>
        )}
      </ol>
      {children}
      <div ref={end} className='end-of-talk' />
    </>
  )
}

/** Scrolls to the end of a dialogue when items are added, unless the user has scrolled away from the end. */
function useEnd (isMain: boolean, count: number, live: Followed['live']) {
  const end = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    const scroll = () => { isAtEnd.current = document.documentElement.scrollHeight - innerHeight - scrollY < NEAR }
    addEventListener('scroll', scroll, { passive: true })
    return () => { removeEventListener('scroll', scroll) }
  }, [])
  useEffect(() => { if (isMain && isAtEnd.current) end.current?.scrollIntoView({ block: 'end' }) }, [isMain, count, live])
  return end
}

/** The button that shows earlier items. @param hidden how many items were read and are not shown */
function Earlier ({ hidden, followed: { hasEarlier, readEarlier }, onMore }: {
  readonly hidden: number
  readonly followed: Followed
  readonly onMore: () => void
}) {
  if (hidden <= 0 && !hasEarlier) return null
  const press = () => {
    if (hasEarlier) void readEarlier()
    onMore()
  }
  return <p><button type='button' className='button small' onClick={press}>{hasEarlier ? t.readEarlier : t.showEarlier(hidden)}</button></p>
}

function Item ({ item: { at, role, by, text, ran }, name }: { readonly item: TalkItem, readonly name: string }) {
  const isService = role === 'service'
  return (
    <li className={isService ? 'service' : undefined}>
      <When at={at} exact />
      <div>
        {!isService && <span className='who'>{role === 'user' ? by === '' ? t.you : by : name}</span>}
        {text !== '' && <p className={isService ? 'quiet pre' : 'said pre'}><Revealed text={text} /></p>}
        {ran !== undefined && <RanBox ran={ran} />}
      </div>
    </li>
  )
}

/** Shows a text that has no message yet, with a caret while it is being written. */
function Live ({ written: { effect, text, step }, name }: { readonly written: LiveText, readonly name: string }) {
  const words = <><Revealed text={text} />{step === undefined && <span className='caret' />}</>
  return (
    <li aria-live='off'>
      <span className='quiet'>{t.now}</span>
      <div><span className='who'>{name}</span>{effect === '' ? <p className='said pre'>{words}</p> : <div className='ran'><pre>{words}</pre></div>}</div>
    </li>
  )
}

/** The largest length of an output that is shown at once, in UTF-16 units. A longer output is folded. */
const SHORT = 2000

/** Shows a command, or a call of a tool: its text, what became of it, and its output. */
function RanBox ({ ran: { words, output, durationMs, ...ended } }: { readonly ran: Ran }) {
  return (
    <div className='ran'>
      <header>
        <code className='grow'><Revealed text={words} /></code>
        {outcomeChips(ended).map(({ said, about, tone }) => <span key={said} className={`chip ${tone}`}>{OUTCOMES[said](about)}</span>)}
        {durationMs !== undefined && <span className='quiet num'>{duration(durationMs)}</span>}
      </header>
      {output !== '' && (output.length <= SHORT
        ? <pre tabIndex={0} aria-label={t.output}><Revealed text={output} /></pre>
        : (
          <details>
            <summary>{t.outputOf(output.length)}</summary>
            <pre tabIndex={0} aria-label={t.output}><Revealed text={output} /></pre>
          </details>
          ))}
    </div>
  )
}

const OUTCOMES: Readonly<Record<OutcomeChip['said'], (about: string) => string>> = {
  proposed: () => t.proposed,
  unasked: () => t.ranUnasked,
  allowed: by => by === '' ? t.allowed : t.allowedBy(by),
  rejected: by => by === '' ? t.refused : t.refusedBy(by),
  denied: reason => reason,
  unknown: () => t.nobodyKnows,
  exit: code => t.exit(Number(code)),
  outcome: outcome => t.outcome(outcome)
}

/** A command, or a call of a tool, that ran or was proposed. */
interface Ran extends Ended {
  /** The command; for a call, the tool and its arguments. */
  readonly words: string
  readonly output: string
  readonly durationMs?: number
}

/** One item of a dialogue: a message, or a command or call that ran or was proposed. */
interface TalkItem {
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
function talkItems (said: readonly Said[], events: readonly SessionEvent[]): readonly TalkItem[] {
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
  return [{ ...item, ran: { words: command, output: '', phase: 'proposed', ...decidedIn(decision) } }]
}

function whatRan ({ seq, n, tool, command, output = '' }: Said, { byPlace, decisions }: Known): Ran {
  const data = byPlace.get(`${seq}.${n}`) ?? {}
  const { arguments: given, passed, outcome, exitCode, durationMs, effect, reason } = data
  if (data['phase'] === 'denied') return { words: command ?? '', output, phase: 'ended', deniedBy: String(reason) }
  const says = typeof outcome === 'string' ? outcome : passed === undefined ? undefined : passed === true ? 'passed' : 'failed'
  return {
    words: command ?? [tool, given === undefined ? '' : JSON.stringify(given)].join(' '),
    output,
    phase: 'ended',
    exitCode: typeof exitCode === 'number' ? exitCode : undefined,
    outcome: says,
    durationMs: typeof durationMs === 'number' ? durationMs : undefined,
    ...decidedIn(decisions.get(String(effect)))
  }
}

function decidedIn (decision: Data | undefined): Pick<Ended, 'decision' | 'by'> {
  return decision === undefined ? {} : { decision: decision['decision'] === 'reject' ? 'reject' : 'approve', by: String(decision['by']) }
}

/** The number of the step to which an effect belongs: `4` for the effect `4.0`. */
function stepOf (effect: unknown): string {
  return String(effect).split('.')[0] ?? ''
}
