import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../.build/api.d.ts'
import { api, take } from '../api/client.ts'
import { costWords } from '../parts/cost.ts'
import { duration, number } from '../parts/time.ts'
import { t } from '../text/text.ts'

type Reply = paths['/api/usage']['get']['responses']['200']['content']['application/json']
export type Usage = Reply['rows'][number]
type Query = NonNullable<paths['/api/usage']['get']['parameters']['query']>

/** What was counted of calls of models. A row of counts is read for each day, so it is asked for when a screen opens, not again and again. */
export function useUsage (query: Query) {
  return useQuery({
    queryKey: ['usage', query],
    queryFn: () => take(api.GET('/api/usage', { params: { query } })),
    placeholderData: before => before
  })
}

/** The first and the last of so many days, of which the last is today. Days are those of UTC, as the service counts them. */
export function lastDays (count: number, now = Date.now()): { readonly from: string, readonly to: string } {
  return { from: dayBefore(count - 1, now), to: dayBefore(0, now) }
}

export function dayBefore (days: number, now = Date.now()): string {
  return new Date(now - days * 86_400_000).toISOString().slice(0, 10)
}

/** How long answers took, as far as it was counted. The largest bound of the service is ten minutes. */
export function timeWords ({ timedCalls, p95Ms }: Pick<Usage, 'timedCalls' | 'p95Ms'>): string {
  return timedCalls === 0 ? '–' : p95Ms === undefined ? `> ${duration(600_000)}` : `≤ ${duration(p95Ms)}`
}

/** All numbers of a row as a sentence. */
export function numbersInWords (row: Usage): string {
  const { calls, errors, timedCalls, inputTokens, outputTokens } = row
  return [
    t.callsCounted(calls, number(calls)),
    t.errorsCounted(errors, number(errors)),
    timedCalls === 0 ? t.noTimes : t.p95Of(timeWords(row)),
    t.tokensUsed(number(inputTokens + outputTokens)),
    costWords(row)
  ].join(', ')
}
