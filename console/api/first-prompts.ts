import { api, takePage } from './client.ts'
import { type PromptRow } from './listings.ts'

/** The number of rows that the list of prompts shows at first. */
export const FIRST_ROWS = 50

/** The query for the first rows of the list of prompts. Most users open this list first, so its rows are requested before the page is drawn. */
export const FIRST_PROMPTS = {
  queryKey: ['registry', 'prompts', 'first'],
  queryFn: async () => (await takePage<PromptRow>(api.GET('/api/prompts', { params: { query: { detail: true, limit: FIRST_ROWS } } }))).rows
} as const
