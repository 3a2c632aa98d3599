import type { paths } from '../../../.build/api.d.ts'

export type Releases = paths['/api/prompts/{id}/versions']['get']['responses']['200']['content']['application/json']
/** What a label means: one version, or several versions, each with the share of the callers who get it, in percent. */
export type Meaning = Releases['labels'][string]

export function meaningOf ({ labels }: Releases, label: string): Meaning | undefined {
  return Object.hasOwn(labels, label) ? labels[label] : undefined
}

/** The version that the most callers of a label get; `undefined` for a label that does not exist. */
export function heaviest (meaning: Meaning | 'latest' | undefined): number | 'latest' | undefined {
  if (typeof meaning !== 'object') return meaning
  return [...meaning].sort((a, b) => b.weight - a.weight)[0]?.version
}

/** What a label means when a share of its callers, in percent, gets one version, and the rest another. */
export function splitMeaning (to: number | 'latest', share: number, rest: number | undefined): Meaning | 'latest' {
  if (rest === undefined || share === 100 || to === 'latest') return to
  return share === 0 ? rest : [{ version: to, weight: share }, { version: rest, weight: 100 - share }]
}

interface User { readonly id: string, readonly through: readonly string[], readonly pins?: readonly string[] | undefined }

/** How many prompts are among those that include a prompt, where a prompt and its labels are listed one by one. */
export function countPrompts (users: readonly User[]): number {
  return new Set(users.map(({ id }) => id.split('@')[0])).size
}

/** The prompts that cannot be rendered any more without a label, since they, or a partial of theirs, name it. */
export function brokenWithout (users: readonly User[], label: string): readonly string[] {
  const naming = users.filter(({ pins }) => pins?.includes(label) === true).map(({ id }) => id)
  return users.filter(({ id, through }) => naming.includes(id) || through.some(partial => naming.includes(partial))).map(({ id }) => id)
}
