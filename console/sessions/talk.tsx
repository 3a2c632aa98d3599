import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { t } from '../text/text.ts'
import { Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { RanBox } from './ran-box.tsx'
import { type TalkItem, talkItems } from './talk-items.ts'
import { type Followed, type LiveText, type Session } from './follow/use-session.ts'
import { partsOf } from './words.ts'

/** How many of the latest items are shown at first; a button shows more. */
const MOST = 200

/** How near the end of the page must be, in px, for the page to scroll on when items are added. */
const NEAR = 200

export interface TalkProps {
  readonly session: Session
  readonly followed: Followed
  /** Whether the page scrolls to its end when items are added. @default true */
  readonly isMain?: boolean
  readonly children?: ReactNode
}

/** Shows a dialogue: its messages, its commands, and the text that is being written now. */
export function Talk ({ session, followed, isMain = true, children }: TalkProps) {
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
