import { api, takePage } from './client.ts'
import { type PromptRow } from './listings.ts'

/** Rows that are shown at first. */
export const FIRST_ROWS = 50

/** The first rows of the list of prompts, which most people see first: they are asked for while the page is made. */
export const FIRST_PROMPTS = {
  queryKey: ['registry', 'prompts', 'first'],
  queryFn: async () => (await takePage<PromptRow>(api.GET('/api/prompts', { params: { query: { detail: true, limit: FIRST_ROWS } } }))).rows
} as const
