import { type Status } from '../api/status.ts'
import { Icon } from '../parts/icons.tsx'
import { shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'

/** Tells the user at the top of the screen what an outage means, as long as it lasts. */
export function Outage ({ status: { state, since, readiness } }: { readonly status: Status }) {
  const words = state === 'stale' ? t.outageStale(shortTime(since ?? 0)) : state === 'gone' ? t.outageGone : state === 'held' ? t.outageHeld : undefined
  const noSessions = readiness?.sessions !== undefined && !readiness.sessions.available
  return (
    <>
      {words !== undefined && (
        <div className={`note outage ${state === 'gone' ? 'bad' : 'warn'}`} role='alert'>
          <Icon name='problems' />
          <span>{words}</span>
        </div>
      )}
      {noSessions && <div className='note outage warn' role='alert'><Icon name='problems' /><span>{t.outageSessions} {readiness.sessions.details}</span></div>}
    </>
  )
}
