import { useQuery } from '@tanstack/react-query'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'
import { ApprovalQueue } from './approval-queue.tsx'

/** The page with all actions that wait for approval, the oldest first. */
export function ApprovalsPage () {
  const mayApprove = useMay('approve')
  const query = useQuery({
    queryKey: ['approvals'],
    queryFn: async () => (await take(api.GET('/api/approvals', {}))).approvals,
    refetchInterval: 2000,
    enabled: mayApprove,
    staleTime: 0
  })
  const approvals = query.data
  return (
    <>
      <PageTitle title={t.approvals} note={!mayApprove ? t.approvalsOfOthers : approvals === undefined ? undefined : t.approvalsCount(approvals.length)} />
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      <div className={query.error === null ? 'narrow' : 'narrow stale'} inert={query.error !== null}>
        <ApprovalQueue approvals={approvals ?? NONE} isInSession={false} showAll />
      </div>
      {approvals?.length === 0 && <Empty title={t.nothingWaits}>{t.nothingWaitsNext}</Empty>}
    </>
  )
}

const NONE: readonly never[] = []
