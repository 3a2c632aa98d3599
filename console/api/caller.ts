import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../.build/api.d.ts'
import { api, take } from './client.ts'

/** Who asks, and what is open to him: what would be refused is not offered. */
export type Caller = paths['/api/caller']['get']['responses']['200']['content']['application/json']
export type Role = Caller['roles'][number]

/** Who asks, which holds as long as the token does. */
export const CALLER = { queryKey: ['caller'], queryFn: () => take(api.GET('/api/caller', {})), staleTime: Infinity }

/** The caller of this tab's token; undefined until it is known. */
export function useCaller (): Caller | undefined {
  return useQuery(CALLER).data
}

/** Whether the caller has a role. `admin` stands for all but `terminal`: whoever types in a shell runs anything unasked. */
export function useMay (role: Role): boolean {
  const caller = useCaller()
  const roles: readonly string[] = caller?.roles ?? []
  return roles.includes(role) || (role !== 'terminal' && roles.includes('admin'))
}
