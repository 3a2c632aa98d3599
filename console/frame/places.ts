import { type Role, useCaller } from '../api/caller.ts'
import { type IconName } from '../parts/icons.tsx'
import { t } from '../text/text.ts'

export interface Place {
  readonly path: string
  readonly name: string
  readonly icon: IconName
  /** The roles that may open the screen; one of them is enough. */
  readonly roles: readonly Role[]
  /** Whether a narrow window shows the link at its bottom. */
  readonly isFirst: boolean
  /** The key that opens the screen when it is pressed after `g`. */
  readonly key: string
}

/** The first group of links in the rail: the screens for authors, in the order shown. `workPlaces` is the second group. */
export const authorPlaces = (): readonly Place[] => [
  { path: '/prompts', name: t.prompts, icon: 'prompts', roles: ['read'], isFirst: true, key: 'p' },
  { path: '/environs', name: t.variables, icon: 'variables', roles: ['read'], isFirst: false, key: 'v' },
  { path: '/tools', name: t.tools, icon: 'tools', roles: ['read'], isFirst: false, key: 't' },
  { path: '/extensions', name: t.extensions, icon: 'extensions', roles: ['read'], isFirst: false, key: 'e' },
  { path: '/problems', name: t.problems, icon: 'problems', roles: ['read'], isFirst: true, key: 'r' },
  { path: '/usage', name: t.usage, icon: 'usage', roles: ['read', 'chat'], isFirst: false, key: 'u' }
]

export const workPlaces = (): readonly Place[] => [
  { path: '/sessions', name: t.sessions, icon: 'sessions', roles: ['run'], isFirst: true, key: 's' },
  { path: '/approvals', name: t.approvals, icon: 'approvals', roles: ['approve', 'run'], isFirst: true, key: 'a' },
  { path: '/traces', name: t.traces, icon: 'traces', roles: ['run'], isFirst: false, key: 'c' },
  { path: '/memory', name: t.memory, icon: 'memory', roles: ['run'], isFirst: false, key: 'm' },
  { path: '/targets', name: t.targets, icon: 'targets', roles: ['run'], isFirst: false, key: 'o' }
]

/** The links to the screens that the caller may open. */
export function useOpenPlaces (places: readonly Place[]): readonly Place[] {
  const roles: readonly string[] = useCaller()?.roles ?? []
  return places.filter(({ roles: wanted }) => roles.includes('admin') || wanted.some(role => roles.includes(role)))
}
