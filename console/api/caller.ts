import { useQuery } from '@tanstack/react-query'
import { ApiError } from './api-error.ts'
import { send } from './client.ts'

export type Role = 'read' | 'render' | 'chat' | 'write' | 'run' | 'approve' | 'admin' | 'terminal'

/** Who asks, and what is open to him: what would be refused is not offered. */
export interface Caller {
  readonly name: string
  readonly roles: readonly Role[]
}

/** The caller of this tab's token; undefined until it is known. */
export function useCaller (): Caller | undefined {
  return useQuery({ queryKey: ['caller'], queryFn: askCaller, staleTime: Infinity }).data
}

/** Whether the caller has a role, which `admin` stands for, too. */
export function useMay (role: Role): boolean {
  const caller = useCaller()
  return caller !== undefined && (caller.roles.includes(role) || caller.roles.includes('admin'))
}

async function askCaller (): Promise<Caller> {
  const response = await send(new Request('/api/caller'))
  if (response.status === 404) return { name: '', roles: ['admin'] }
  if (!response.ok) throw new ApiError(response.status, await response.json().catch(() => ({})))
  return await response.json() as Caller
}
