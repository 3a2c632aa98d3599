import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../../.build/api.d.ts'
import { api, take } from '../../api/client.ts'

/** A session as lists and trees show it. */
export type SessionRow = paths['/api/sessions']['get']['responses']['200']['content']['application/json']['sessions'][number]

/** A session, and all that it has started. */
export type Tree = SessionRow & { readonly children: readonly Tree[] }

/** Time between two looks while something runs, in ms. */
const INTERVAL = 3000

/** A session with all below it, asked for again whenever it has moved, and while something of it runs. */
export function useTree ({ id, seq, status }: { readonly id: string, readonly seq: number, readonly status: string }) {
  return useQuery({
    queryKey: ['session', id, 'tree', seq, status],
    queryFn: () => readTree(id),
    placeholderData: before => before,
    refetchInterval: status === 'running' ? INTERVAL : false,
    staleTime: 0
  })
}

/** @throws ApiError */
async function readTree (id: string): Promise<Tree> {
  return await take(api.GET('/api/sessions/{id}/tree', { params: { path: { id } } })) as Tree
}

/** All below a session, each behind the one that has started it. */
export function below ({ children }: Tree): readonly Tree[] {
  return children.flatMap(child => [child, ...below(child)])
}
