import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { Answer } from '../parts/answer.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { type Followed, type LiveText, type Session, useSession } from './follow/use-session.ts'
import { type OutcomeChip, outcomeChips } from './outcomes.ts'
import { type Child, type Ran, type TalkItem, talkItems } from './talk-items.ts'
import { partsOf, stateOf } from './words.ts'

/** How many of the latest items are shown at first; a button shows more. */
const MOST = 200

/**
 * Shows a dialogue: its messages, its commands, the sessions that it has started, and the text that is being written now.
 * @param isMain whether the page scrolls with it
 */
export function Talk ({ session, followed, isMain = true, label = t.dialogue, children }: {
  readonly session: Session
  readonly followed: Followed
  readonly isMain?: boolean
  readonly label?: string
  readonly children?: ReactNode
}) {
  const { said, events, live } = followed
  const all = useMemo(() => talkItems(said, events), [said, events])
  // A proposed command that waits for a person is shown in a card, and so not as an item.
  const items = session.status.startsWith('waiting') && all.at(-1)?.ran?.phase === 'proposed' ? all.slice(0, -1) : all
  const [most, setMost] = useState(MOST)
  const name = partsOf(session.definition).name
  const end = useEnd(isMain)
  return (
    <>
      <Earlier hidden={items.length - most} followed={followed} onMore={() => { setMost(most + 4 * MOST) }} />
      {items.length === 0 && live.length === 0 && <p className='quiet'>{t.nothingSaid}</p>}
      <ol className='talk' aria-label={label}>
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

/** Scrolls to the end of a dialogue whenever it grows, unless the user has scrolled away from the end or has unfolded something. */
function useEnd (isMain: boolean) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const mark = end.current
    const dialogue = mark?.parentElement
    if (!isMain || mark === null || dialogue === null || dialogue === undefined) return
    let [isAtEnd, before] = [true, scrollY]
    const follow = () => { if (isAtEnd) mark.scrollIntoView({ block: 'end' }) }
    const scrolled = () => {
      // Only a way up leads away from the end: otherwise the dialogue may have grown since it was scrolled.
      if (mark.getBoundingClientRect().bottom < innerHeight) isAtEnd = true
      else if (scrollY < before) isAtEnd = false
      before = scrollY
    }
    const clicked = ({ target }: MouseEvent) => { if (target instanceof Element && target.closest('summary') !== null) isAtEnd = false }
    const observer = new ResizeObserver(follow)
    observer.observe(dialogue)
    // The keyboard of a phone makes the window smaller.
    addEventListener('resize', follow)
    addEventListener('scroll', scrolled, { passive: true })
    dialogue.addEventListener('click', clicked)
    return () => {
      observer.disconnect()
      removeEventListener('resize', follow)
      removeEventListener('scroll', scrolled)
      dialogue.removeEventListener('click', clicked)
    }
  }, [isMain])
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

function Item ({ item: { at, role, by, text, ran, child }, name }: { readonly item: TalkItem, readonly name: string }) {
  const isService = role === 'service'
  return (
    <li className={isService ? 'service' : undefined}>
      <When at={at} exact />
      <div>
        {!isService && <span className='who'>{role === 'user' ? by === '' ? t.you : by : name}</span>}
        {text !== '' && (role === 'assistant'
          ? <div className='said'><Answer text={text} /></div>
          : <p className={isService ? 'quiet pre' : 'said pre'}><Revealed text={text} /></p>)}
        {ran !== undefined && <RanBox ran={ran} />}
        {child !== undefined && <ChildBox child={child} />}
      </div>
    </li>
  )
}

/** Shows a text that has no message yet, with a caret while it is being written. */
function Live ({ written: { effect, text, step }, name }: { readonly written: LiveText, readonly name: string }) {
  const caret = step === undefined && <span className='caret' />
  return (
    <li aria-live='off'>
      <span className='quiet'>{t.now}</span>
      <div><span className='who'>{name}</span>{effect === ''
        ? <div className='said'><Answer text={text} />{caret}</div>
        : <div className='ran'><pre><Revealed text={text} />{caret}</pre></div>}
      </div>
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

/** Shows a session that this one has started: its state, the way to it, and its dialogue, which is unfolded while it runs. */
function ChildBox ({ child: { session: id, name, definition, status } }: { readonly child: Child }) {
  const isRunning = status === 'running'
  const [isOpen, setOpen] = useState(isRunning)
  const now = useQuery({ queryKey: ['session', id], queryFn: () => take(api.GET('/api/sessions/{id}', { params: { path: { id } } })), enabled: isRunning }).data
  const { words, tone } = status === 'refused' ? { words: t.refused, tone: 'bad' } : stateOf(isRunning ? now?.status ?? status : status, now?.word)
  return (
    <section className='ran' aria-label={t.stepsOf(name)}>
      <header>
        <b>{name}</b>
        <span className='quiet grow'>{t.kindOf(partsOf(definition).kind)}</span>
        <span className={`chip ${tone}`}>{words}</span>
        <Link href={`/sessions/${id}`}>{t.toSession}</Link>
      </header>
      <details open={isOpen} onToggle={event => { setOpen(event.currentTarget.open) }}>
        <summary>{t.whatItDid}</summary>
        {isOpen && <ChildTalk id={id} name={name} />}
      </details>
    </section>
  )
}

function ChildTalk ({ id, name }: { readonly id: string, readonly name: string }) {
  const followed = useSession(id)
  const { data: session, error, refetch } = followed.query
  if (error !== null && session === undefined) return <ErrorNote error={error} onRetry={() => { void refetch() }} />
  if (session === undefined) return <p className='hint inside'>{t.loading}</p>
  return <div className='inner'><Talk session={session} followed={followed} isMain={false} label={t.stepsOf(name)} /></div>
}
