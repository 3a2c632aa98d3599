import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../.build/api.d.ts'
import { api, take } from './client.ts'

/** Who asks, and what is open to him: what would be refused is not offered. */
export type Caller = paths['/api/caller']['get']['responses']['200']['content']['application/json']
export type Role = Caller['roles'][number]

/** The caller of this tab's token; undefined until it is known. */
export function useCaller (): Caller | undefined {
  return useQuery({ queryKey: ['caller'], queryFn: () => take(api.GET('/api/caller', {})), staleTime: Infinity }).data
}

/** Whether the caller has a role, which `admin` stands for, too. */
export function useMay (role: Role): boolean {
  const caller = useCaller()
  return caller !== undefined && (caller.roles.includes(role) || caller.roles.includes('admin'))
}
