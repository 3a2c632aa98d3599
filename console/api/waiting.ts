import { useQuery } from '@tanstack/react-query'
import { useMay } from './caller.ts'
import { useFallback } from './changes.ts'
import { api, take } from './client.ts'

/** The actions that wait for a decision of the caller. They are requested again when the service tells of a change, also while the tab is hidden. */
export function useApprovals () {
  return useQuery({
    queryKey: ['approvals'],
    queryFn: async () => (await take(api.GET('/api/approvals', {}))).approvals,
    enabled: useMay('approve'),
    refetchInterval: useFallback(),
    refetchIntervalInBackground: true,
    staleTime: 0
  })
}

/** The sessions of the caller that wait for input. */
export function useWaitingSessions () {
  return useQuery({
    queryKey: ['sessions', 'waiting'],
    queryFn: async () => (await take(api.GET('/api/sessions', { params: { query: { status: 'waiting_input', limit: 100 } } }))).sessions,
    enabled: useMay('run'),
    refetchInterval: useFallback(),
    refetchIntervalInBackground: true
  })
}
