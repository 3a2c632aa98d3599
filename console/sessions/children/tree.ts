import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/api-error.ts'
import { send } from '../../api/client.ts'

/** A session as lists and trees show it. */
export interface SessionRow {
  readonly id: string
  readonly definition: string
  readonly status: string
  readonly owner: string
  readonly createdAt: string
  readonly updatedAt: string
  readonly parent?: string
  readonly root?: string
  /** How many sessions below it wait for a person. */
  readonly childrenWaiting?: number
}

/** A session, and all that it has started. */
export interface Tree extends SessionRow { readonly children: readonly Tree[] }

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
  const response = await send(new Request(`/api/sessions/${id}/tree`))
  const body: unknown = await response.json().catch(() => ({}))
  if (!response.ok) throw new ApiError(response.status, body)
  return body as Tree
}

/** All below a session, each behind the one that has started it. */
export function below ({ children }: Tree): readonly Tree[] {
  return children.flatMap(child => [child, ...below(child)])
}
