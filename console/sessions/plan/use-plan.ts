import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect, useMemo } from 'react'
import type { paths } from '../../../.build/api.d.ts'
import { api, take } from '../../api/client.ts'
import { type Session } from '../follow/use-session.ts'

export type Plan = paths['/api/plans/{id}']['get']['responses']['200']['content']['application/json']

/** A file that a plan would change, with its diff. */
export interface ChangedFile {
  readonly kind: string
  readonly path: string
  /** What was there, and what comes: the SHA-256 of a file, `folder`, or null for nothing. */
  readonly before: string | null
  readonly after: string | null
  readonly bytes: number
  readonly diff: string
  readonly isCut?: boolean
  readonly isOutdated?: boolean
}

/** The number of files that one request for a preview asks for. */
const PAGE = 500

/** The query for a plan, and the files that the plan would change. Both are requested again when the session has changed. */
export function usePlan ({ id, seq, status }: Session) {
  const plan = useQuery({ queryKey: ['plan', id], queryFn: () => take(api.GET('/api/plans/{id}', { params: { path: { id } } })), staleTime: 0 })
  const { refetch } = plan
  useEffect(() => { void refetch() }, [seq, status, refetch])
  return { plan, ...useChange(id, `${seq} ${status}`, plan.data?.confirm?.digest) }
}

/**
 * Requests the files that a plan would change, page after page.
 * @param state a text that changes with the session; then the files are requested again
 * @param digest of the change that the person may agree to: only all of its files, and no others, are whole
 */
export function useChange (id: string, state: string, digest: string | undefined) {
  const preview = useInfiniteQuery({
    queryKey: ['plan', id, 'preview'],
    initialPageParam: 0,
    queryFn: async ({ pageParam }) => await take(api.GET('/api/plans/{id}/preview', {
      params: {
        path: { id },
        query: { after: pageParam, limit: PAGE }
      }
    })) as {
      readonly files: readonly ChangedFile[]
      readonly more: number
      readonly confirm?: { readonly digest: string, readonly deletes: readonly string[] }
    },
    getNextPageParam: (last, pages) => last.more > 0 ? pages.reduce((sum, { files }) => sum + files.length, 0) : undefined,
    staleTime: 0
  })
  const { refetch, fetchNextPage, hasNextPage, isFetching } = preview
  useEffect(() => { void refetch() }, [state, refetch])
  useEffect(() => { if (hasNextPage && !isFetching) void fetchNextPage() }, [hasNextPage, isFetching, fetchNextPage])
  const pages = preview.data?.pages ?? []
  // A reply of before stays on the screen until the next one comes.
  const isWhole = pages.length > 0 && !hasNextPage && pages.every(({ confirm }) => confirm?.digest === digest)
  const files = useMemo(() => preview.data?.pages.flatMap(page => page.files) ?? NONE, [preview.data])
  return { files, error: preview.error, isWhole: isWhole && preview.error === null }
}

const NONE: readonly ChangedFile[] = []
