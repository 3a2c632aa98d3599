import { useQuery } from '@tanstack/react-query'
import { useMay } from '../api/caller.ts'
import { api, take, takePage } from '../api/client.ts'

/** Time between two looks at what waits, in ms. */
const INTERVAL = 5000

export type Counts = Readonly<Record<string, { readonly n: number, readonly tone: string }>>

/** How much waits at each place of the rail. */
export function useCounts (): Counts {
  const mayRead = useMay('read')
  const mayRun = useMay('run')
  const mayApprove = useMay('approve')
  const problems = useQuery({ queryKey: ['registry', 'problems', 'count'], queryFn: async () => (await takePage<{ state: string, diagnostics: ReadonlyArray<{ severity: string }> }>(api.GET('/api/status/entries', { params: { query: { limit: 500 } } }))).rows.filter(({ state, diagnostics }) => state !== 'valid' && diagnostics.some(({ severity }) => severity === 'error')).length, enabled: mayRead, refetchInterval: 15_000 })
  const waiting = useQuery({ queryKey: ['sessions', 'waiting'], queryFn: async () => (await take(api.GET('/api/sessions', { params: { query: { status: 'waiting_input', limit: 100 } } }))).sessions.length, enabled: mayRun, refetchInterval: INTERVAL })
  const approvals = useQuery({ queryKey: ['approvals'], queryFn: async () => (await take(api.GET('/api/approvals', {}))).approvals, enabled: mayApprove, refetchInterval: INTERVAL })
  return {
    '/problems': { n: problems.data ?? 0, tone: 'bad' },
    '/sessions': { n: waiting.data ?? 0, tone: 'warn' },
    '/approvals': { n: approvals.data?.length ?? 0, tone: 'warn' }
  }
}
