import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../../.build/api.d.ts'
import { api, takeTagged } from '../../api/client.ts'

export type Releases = paths['/api/prompts/{id}/versions']['get']['responses']['200']['content']['application/json']
export type Version = Releases['versions'][number]
/** What a label means: a version, or several by their weights. */
export type Meaning = Releases['labels'][string]

/** The versions and labels of a prompt, with the tag that a move of a label has to name. */
export function useReleases (id: string) {
  return useQuery({ queryKey: ['registry', 'releases', id], queryFn: () => takeTagged(api.GET('/api/prompts/{id}/versions', { params: { path: { id } } })) })
}

/** The share of a version in what a label means, in percent; undefined where it has none. */
export function shareOf (meaning: Meaning | undefined, n: number): number | undefined {
  if (meaning === undefined) return undefined
  if (typeof meaning === 'number') return meaning === n ? 100 : undefined
  return meaning.find(({ version }) => version === n)?.weight
}

/** `7`, or `7 95 %, 9 5 %`. */
export function wordsOf (meaning: Meaning | null | undefined): string {
  if (meaning === null || meaning === undefined) return '–'
  return typeof meaning === 'number' ? String(meaning) : meaning.map(({ version, weight }) => `${version} ${weight} %`).join(', ')
}
