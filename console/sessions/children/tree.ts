import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../../.build/api.d.ts'
import { useFallback } from '../../api/changes.ts'
import { api, take } from '../../api/client.ts'

/** A session as a row of the list of sessions, or of a tree. */
export type SessionRow = paths['/api/sessions']['get']['responses']['200']['content']['application/json']['sessions'][number]

/** A session, with the sessions that it has started. */
export type Tree = SessionRow & { readonly children: readonly Tree[] }

/** The query for a session's tree. The tree is requested again whenever the session has changed, or one below it. */
export function useTree ({ id, seq, status }: { readonly id: string, readonly seq: number, readonly status: string }) {
  return useQuery({
    queryKey: ['session', id, 'tree', seq, status],
    queryFn: () => readTree(id),
    placeholderData: before => before,
    refetchInterval: useFallback(),
    staleTime: 0
  })
}

/** Reads the tree of a session. @throws ApiError */
async function readTree (id: string): Promise<Tree> {
  return await take(api.GET('/api/sessions/{id}/tree', { params: { path: { id } } })) as Tree
}

/** Lists all sessions below the root of a tree, each after the session that has started it. */
export function below ({ children }: Tree): readonly Tree[] {
  return children.flatMap(child => [child, ...below(child)])
}
