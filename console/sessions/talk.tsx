import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react'
import { t } from '../text/text.ts'
import { Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { RanBox } from './ran-box.tsx'
import { talkItems } from './talk-items.ts'
import { type Followed, type Session } from './use-session.ts'
import { partsOf } from './words.ts'

/** Items that are shown at first: the latest, and more at each wish. */
const MOST = 200

/** A dialogue: what was said, what ran, and what is being said. */
export function Talk ({ session, followed, isMain = true, children }: { readonly session: Session, readonly followed: Followed, /** Whether the page keeps to its end. */ readonly isMain?: boolean, readonly children?: ReactNode }) {
  const { said, events, live } = followed
  const all = useMemo(() => talkItems(said, events), [said, events])
  // What waits stands in its card.
  const items = session.status.startsWith('waiting') && all.at(-1)?.ran?.phase === 'proposed' ? all.slice(0, -1) : all
  const [most, setMost] = useState(MOST)
  const shown = items.slice(-most)
  const name = partsOf(session.definition).name
  const end = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  useEffect(() => {
    const scroll = () => { isAtEnd.current = document.documentElement.scrollHeight - innerHeight - scrollY < 200 }
    addEventListener('scroll', scroll, { passive: true })
    return () => { removeEventListener('scroll', scroll) }
  }, [])
  useEffect(() => { if (isMain && isAtEnd.current) end.current?.scrollIntoView({ block: 'end' }) }, [isMain, items.length, live])
  return (
    <>
      {items.length > most && <p><button type='button' className='button small' onClick={() => { setMost(most + 4 * MOST) }}>{t.showEarlier(items.length - most)}</button></p>}
      {items.length === 0 && live.size === 0 && <p className='quiet'>{t.nothingSaid}</p>}
      <ol className='talk' aria-label={t.dialogue}>
        {shown.map(({ key, at, role, by, text, ran }) => (
          <li key={key} className={role === 'service' ? 'service' : undefined}>
            <When at={at} exact />
            <div>
              {role !== 'service' && <span className='who'>{role === 'user' ? by === '' ? t.you : by : name}</span>}
              {text !== '' && <p className={role === 'service' ? 'quiet pre' : 'said pre'}><Revealed text={text} /></p>}
              {ran !== undefined && <RanBox ran={ran} />}
            </div>
          </li>
        ))}
        {[...live].map(([effect, text]) => (
          <li key={`live-${effect}`} aria-live='off'>
            <span className='quiet'>{t.now}</span>
            <div><span className='who'>{name}</span>{effect === '' ? <p className='said pre'><Revealed text={text} /><span className='caret' /></p> : <div className='ran'><pre><Revealed text={text} /><span className='caret' /></pre></div>}</div>
          </li>
        ))}
        {session.status === 'running' && live.size === 0 && <li><span className='quiet'>{t.now}</span><div><span className='who'>{name}</span> <span className='quiet' role='status'>{t.isAnswering}</span></div></li>}
      </ol>
      {children}
      <div ref={end} className='end-of-talk' />
    </>
  )
}
