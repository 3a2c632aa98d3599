import type { paths } from '../../.build/api.d.ts'
import type { SessionRow } from './children/tree.ts'
import { hasEnded } from './words.ts'

type Query = NonNullable<paths['/api/sessions']['get']['parameters']['query']>

export type ListStatus = NonNullable<Query['status']>

/** By their names in the address; all of them are empty where nothing is chosen. */
export const FILTERS = ['q', 'status', 'kind', 'of', 'owner', 'since', 'until'] as const

/** `of` is a definition; `since` and `until` are days, such as `2026-11-28`, both of them included. */
export type Filter = Readonly<Record<Exclude<typeof FILTERS[number], 'status'>, string>> & { readonly status: ListStatus | '' }

const STATUSES: readonly string[] = [
  'running', 'waiting_input', 'waiting_approval', 'completed', 'failed', 'cancelled', 'expired', 'waiting', 'open', 'ended'
] satisfies readonly ListStatus[]

/** What an address says that no filter has is left out. */
export function filterIn (search: URLSearchParams): Filter {
  const text = (name: string): string => search.get(name) ?? ''
  const day = (name: string): string => /^\d{4}-\d\d-\d\d$/.test(text(name)) ? text(name) : ''
  const kind = ['agents', 'skills', 'plans', 'terminals', 'releases'].includes(text('kind')) ? text('kind') : ''
  const status = STATUSES.includes(text('status')) ? text('status') as ListStatus : ''
  return { q: text('q'), status, kind, of: text('of'), owner: text('owner'), since: day('since'), until: day('until') }
}

/** What the service is asked. Days are those of this computer's time zone. */
export function queryOf ({ q, kind, of, owner, since, until }: Filter, status: ListStatus): Query {
  const given = (text: string): string | undefined => text.trim() === '' ? undefined : text.trim().slice(0, 200)
  return {
    q: given(q),
    status,
    kind: kind === '' ? undefined : kind as Query['kind'],
    definition: of === '' ? undefined : of,
    owner: given(owner),
    since: since === '' ? undefined : startOf(since).toISOString(),
    until: until === '' ? undefined : startOf(until, 1).toISOString()
  }
}

/** @param later days after it */
function startOf (day: string, later = 0): Date {
  const [year = 0, month = 1, date = 1] = day.split('-').map(Number)
  return new Date(year, month - 1, date + later)
}

export const RANGES = ['', 'today', 'yesterday', 'week', 'days'] as const

type Range = typeof RANGES[number]

/** Which of the ranges two days are; `days` for any that has no name. */
export function rangeOf ({ since, until }: Pick<Filter, 'since' | 'until'>, now = new Date()): Range {
  if (since === '' && until === '') return ''
  const named = (['today', 'yesterday', 'week'] as const).find(range => daysOf(range, now).since === since && daysOf(range, now).until === until)
  return named ?? 'days'
}

export function daysOf (range: string, now = new Date()): Pick<Filter, 'since' | 'until'> {
  switch (range) {
    case 'today': return { since: dayOf(now, 0), until: dayOf(now, 0) }
    case 'yesterday': return { since: dayOf(now, 1), until: dayOf(now, 1) }
    case 'week': return { since: dayOf(now, 6), until: dayOf(now, 0) }
    case 'days': return { since: dayOf(now, 29), until: dayOf(now, 0) }
    default: return { since: '', until: '' }
  }
}

function dayOf (now: Date, before: number): string {
  const day = new Date(now.getFullYear(), now.getMonth(), now.getDate() - before)
  return [day.getFullYear(), day.getMonth() + 1, day.getDate()].map(part => String(part).padStart(2, '0')).join('-')
}

export const GROUPS = ['waits', 'runs', 'open', 'ended'] as const

/** `open`: nothing is wanted of anybody, and it can go on. */
export type Group = typeof GROUPS[number]

/** States of an engine in which nothing waits: the agent has answered, the change is made, taken back, rejected or needless. */
const RESTING: readonly string[] = ['await_input', 'applied', 'undone', 'rejected', 'no_changes']

export function groupOf ({ status, word = '', childrenWaiting = 0 }: Pick<SessionRow, 'status' | 'word' | 'childrenWaiting'>): Group {
  if (hasEnded(status)) return 'ended'
  if (status === 'running') return childrenWaiting > 0 ? 'waits' : 'runs'
  return status === 'waiting_input' && childrenWaiting === 0 && RESTING.includes(word) ? 'open' : 'waits'
}
