import { useQuery } from '@tanstack/react-query'
import { api, take, takeTagged } from '../../api/client.ts'
import type { Meaning, Releases } from './meaning.ts'

export type { Meaning, Releases }

/** The query for the versions and labels of a prompt, with the entity tag that a request to move a label has to name. */
export function useReleases (id: string, isStored = true) {
  return useQuery({
    queryKey: ['registry', 'releases', id],
    queryFn: () => takeTagged(api.GET('/api/prompts/{id}/versions', { params: { path: { id } } })),
    enabled: isStored
  })
}

/** The change requests of a prompt's labels, the newest first; asked for again when the service tells that a session of the caller has changed. */
export function useRequests (id: string, isAsked: boolean) {
  return useQuery({
    queryKey: ['sessions', 'requests', id],
    queryFn: () => take(api.GET('/api/prompts/{id}/requests', { params: { path: { id } } })),
    enabled: isAsked,
    staleTime: 0
  })
}

/** The share of a label's callers who get a version, in percent; `undefined` if the label does not mean this version. */
export function shareOf (meaning: Meaning | undefined, n: number): number | undefined {
  if (meaning === undefined) return undefined
  if (typeof meaning === 'number') return meaning === n ? 100 : undefined
  return meaning.find(({ version }) => version === n)?.weight
}

/** The meaning of a label in words: `7`, or `7 95 %, 9 5 %` for two versions; `–` for none. */
export function wordsOf (meaning: Meaning | null | undefined): string {
  if (meaning === null || meaning === undefined) return '–'
  return typeof meaning === 'number' ? String(meaning) : meaning.map(({ version, weight }) => `${version} ${weight} %`).join(', ')
}
