import { ApiError } from '../api/api-error.ts'
import { listEnvirons, listPrompts, listTools, type PromptRow, type ToolRow, words } from '../api/listings.ts'
import { queries } from '../api/queries.ts'
import { readEnviron } from '../api/environ.ts'
import { nameOf, odditiesOf } from '../parts/oddities.ts'
import { t } from '../text/text.ts'
import type { Registered } from './template-names.ts'

const LISTS = [
  { queryKey: ['registry', 'environs'], queryFn: listEnvirons, staleTime: Infinity },
  { queryKey: ['registry', 'prompts'], queryFn: listPrompts, staleTime: Infinity },
  { queryKey: ['registry', 'tools'], queryFn: listTools, staleTime: Infinity }
] as const
const [ENVIRONS, PROMPTS, TOOLS] = LISTS

export type Registry = typeof registry

/** What is registered, as far as the caller may see it: read once, and again only after the service has said that it changed. */
export const registry = {
  now: (): Registered => ({
    environs: queries.getQueryData<readonly string[]>(ENVIRONS.queryKey) ?? [],
    prompts: (queries.getQueryData<readonly PromptRow[]>(PROMPTS.queryKey) ?? []).map(({ id, description }) => ({ id, description: words(description) })),
    tools: queries.getQueryData<readonly ToolRow[]>(TOOLS.queryKey) ?? []
  }),
  isReading: () => LISTS.some(({ queryKey }) => queries.getQueryState(queryKey)?.status !== 'error' && queries.getQueryData(queryKey) === undefined),
  /** Reads the lists that are not there, or have changed. */
  read: () => Promise.allSettled([queries.fetchQuery(ENVIRONS), queries.fetchQuery(PROMPTS), queries.fetchQuery(TOOLS)]),
  /** The names of the lists that could not be read. */
  unread: () => LISTS.filter(({ queryKey }) => queries.getQueryState(queryKey)?.status === 'error').map(({ queryKey }) => queryKey[1]),
  /** The value of a shared variable as the service gives it to the caller; `undefined` for none. */
  async valueOf (id: string): Promise<unknown> {
    const { value } = await queries.fetchQuery({ queryKey: ['registry', 'environ', id], queryFn: () => readEnviron(id) })
    return value === undefined ? undefined : JSON.parse(value)
  },
  reasonOf: (error: unknown) => error instanceof ApiError ? error.message : t.unreachable,
  nameOf,
  odditiesOf
}
