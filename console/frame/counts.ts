import { useQuery } from '@tanstack/react-query'
import { useMay } from '../api/caller.ts'
import { api, take, takePage } from '../api/client.ts'

/** The time between two requests for what waits, and between two requests for the entries with mistakes, in ms. */
const [INTERVAL, INTERVAL_OF_PROBLEMS] = [5000, 15_000]

interface Entry { readonly state: string, readonly diagnostics: ReadonlyArray<{ readonly severity: string }> }

export type Counts = Readonly<Record<string, { readonly n: number, readonly tone: string }>>

/** The numbers that the rail shows beside its links: entries with mistakes, sessions that wait for input, and actions that wait for approval. */
export function useCounts (): Counts {
  const mayRead = useMay('read')
  const mayRun = useMay('run')
  const mayApprove = useMay('approve')
  const problems = useQuery({ queryKey: ['registry', 'problems', 'count'], queryFn: countProblems, enabled: mayRead, refetchInterval: INTERVAL_OF_PROBLEMS })
  const waiting = useQuery({ queryKey: ['sessions', 'waiting'], queryFn: countWaiting, enabled: mayRun, refetchInterval: INTERVAL })
  const approvals = useQuery({ queryKey: ['approvals'], queryFn: listApprovals, enabled: mayApprove, refetchInterval: INTERVAL })
  return {
    '/problems': { n: problems.data ?? 0, tone: 'bad' },
    '/sessions': { n: waiting.data ?? 0, tone: 'warn' },
    '/approvals': { n: approvals.data?.length ?? 0, tone: 'warn' }
  }
}

async function countProblems (): Promise<number> {
  const { rows } = await takePage<Entry>(api.GET('/api/status/entries', { params: { query: { limit: 500 } } }))
  return rows.filter(({ state, diagnostics }) => state !== 'valid' && diagnostics.some(({ severity }) => severity === 'error')).length
}

async function countWaiting (): Promise<number> {
  return (await take(api.GET('/api/sessions', { params: { query: { status: 'waiting_input', limit: 100 } } }))).sessions.length
}

async function listApprovals () {
  return (await take(api.GET('/api/approvals', {}))).approvals
}
