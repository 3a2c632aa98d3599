import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../.build/api.d.ts'
import { api, take } from './client.ts'

/**
 * The caller of the service (the holder of the token that the console sends), with the caller's roles. The console offers no action that
 * the service would refuse to the caller.
 */
type Caller = paths['/api/caller']['get']['responses']['200']['content']['application/json']
export type Role = Caller['roles'][number]

/** The query for the caller. Its result stays valid until the user enters another token. */
export const CALLER = { queryKey: ['caller'], queryFn: () => take(api.GET('/api/caller', {})), staleTime: Infinity }

/** The caller whose token this tab sends; `undefined` until the service has told who it is. */
export function useCaller (): Caller | undefined {
  return useQuery(CALLER).data
}

/**
 * Whether the caller has a role. The role `admin` includes every role but `terminal`, since a person who types into a shell runs commands
 * without any approval.
 */
export function useMay (role: Role): boolean {
  const caller = useCaller()
  const roles: readonly string[] = caller?.roles ?? []
  return roles.includes(role) || (role !== 'terminal' && roles.includes('admin'))
}
