import { useSearchParams } from 'wouter'
import { useMay } from '../api/caller.ts'
import { useApprovals } from '../api/waiting.ts'
import { Empty } from '../parts/empty.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { changeWish, useWish } from '../parts/notifications.ts'
import { PageTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'
import { ApprovalQueue } from './approval-queue.tsx'

/** The page with all actions that wait for approval, the oldest first. */
export function ApprovalsPage () {
  const mayApprove = useMay('approve')
  const query = useApprovals()
  const [search] = useSearchParams()
  const approvals = query.data
  return (
    <>
      <PageTitle title={t.approvals} note={!mayApprove ? t.approvalsOfOthers : approvals === undefined ? undefined : t.approvalsCount(approvals.length)}>
        <NotifyButton />
      </PageTitle>
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      <div className={query.error === null ? 'narrow' : 'narrow stale'}>
        <ApprovalQueue approvals={approvals ?? NONE} isInSession={false} showAll at={search.get('at') ?? ''} />
      </div>
      {approvals?.length === 0 && <Empty title={t.nothingWaits}>{t.nothingWaitsNext}</Empty>}
    </>
  )
}

const NONE: readonly never[] = []

/** The button that turns the browser's notifications on and off. Where there can be none, it says why. */
function NotifyButton () {
  const wish = useWish()
  if (wish === 'impossible' || wish === 'refused') return <span className='quiet'>{wish === 'refused' ? t.notifyRefused : t.notifyImpossible}</span>
  const isOn = wish === 'on'
  return (
    <button type='button' className='button' aria-pressed={isOn} title={t.notifyMeans} onClick={() => { void changeWish(!isOn) }}>
      {isOn ? t.notifyOn : t.notifyMe}
    </button>
  )
}
