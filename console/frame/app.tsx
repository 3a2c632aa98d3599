import { Suspense, useEffect, useRef } from 'react'
import { useLocation } from 'wouter'
import { useCaller } from '../api/caller.ts'
import { useChanges } from '../api/changes.ts'
import { useStatus } from '../api/status.ts'
import { t } from '../text/text.ts'
import { Bar } from './bar.tsx'
import { Fault } from './fault.tsx'
import { Keys } from './keys.tsx'
import { Outage } from './outage.tsx'
import { Rail } from './rail.tsx'
import { Screens } from './screens.tsx'
import { TokenDialog } from './token-dialog.tsx'

/** The whole console: the rail, the bar, the present screen, and the dialogs that every screen needs. */
export function App () {
  const status = useStatus()
  const caller = useCaller()
  useChanges()
  const [path] = useLocation()
  const page = useRef<HTMLElement>(null)
  const isFirst = useRef(true)
  // The focus moves to the new screen, so that a screen reader begins to read there.
  useEffect(() => {
    if (isFirst.current) isFirst.current = false
    else page.current?.focus({ preventScroll: true })
    window.scrollTo(0, 0)
  }, [path])
  return (
    <div className='frame'>
      <a href='#page' className='skip' onClick={event => { event.preventDefault(); page.current?.focus() }}>{t.skipToPage}</a>
      <Rail />
      <Bar status={status} />
      <main className='page' id='page' ref={page} tabIndex={-1}>
        <Outage status={status} />
        <Fault key={path}>
          <Suspense fallback={<p className='quiet loading' role='status'>{t.loading}</p>}>
            {caller === undefined ? <p className='quiet loading' role='status'>{t.loading}</p> : <Screens />}
          </Suspense>
        </Fault>
      </main>
      <Keys />
      <TokenDialog />
    </div>
  )
}
