import { type Caller, seesEverything } from '../../access/caller.ts'
import { Type } from '../../schema/builder.ts'
import { DAY, dayOf, KEPT_DAYS, USAGE_KEYS, type UsageKey, type UsageLedger, type UsageRow } from '../../service/usage.ts'
import { requestInvalid, storeUnavailable } from '../../base/errors.ts'
import type { App } from '../app.ts'

const Day = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: ['2026-01-31'] }))

const Query = Type.Object({
  from: Day('The first day, in UTC; left out: `to`'),
  to: Day('The last day, in UTC; left out: today'),
  by: Type.String({ maxLength: 100, default: 'model', description: `What a row is about, out of ${USAGE_KEYS.join(', ')}, with commas between them` })
})

const Row = Type.Object({
  day: Type.Optional(Type.String()),
  token: Type.Optional(Type.String({ description: 'Its name; empty where none is asked for' })),
  prompt: Type.Optional(Type.String({ description: 'Or a definition, such as agents/helper; empty for calls without one' })),
  version: Type.Optional(Type.String()),
  label: Type.Optional(Type.String()),
  model: Type.Optional(Type.String({ description: 'As the API names it in its answers' })),
  calls: Type.Integer(),
  inputTokens: Type.Integer(),
  outputTokens: Type.Integer(),
  cachedTokens: Type.Integer({ description: 'Of the input' }),
  reasoningTokens: Type.Integer({ description: 'Of the output' }),
  estimatedCalls: Type.Integer({ description: 'Whose tokens the API did not tell' }),
  estimatedTokens: Type.Integer(),
  unpricedCalls: Type.Integer({ description: 'Whose price is not known' }),
  costUsd: Type.Optional(Type.Number({ description: 'Of the other calls; left out where there are none' }))
})

const UsageReply = Type.Object({
  from: Type.String(),
  to: Type.String(),
  by: Type.Array(Type.String()),
  pricesOf: Type.String({ description: 'When the prices were looked up' }),
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Without Redis, what this process counted since its start' })),
  rows: Type.Array(Row, { description: 'The most calls first' })
})

/** Whoever sees all entries sees all rows; others those of their own token. */
export function usageRoutes (app: App, ledger: UsageLedger): void {
  app.get('/api/usage', {
    config: { role: 'read', orRoles: ['chat'], fails: ['STORE_UNAVAILABLE'] },
    schema: { tags: ['Status'], operationId: 'getUsage', summary: 'Calls of models, their tokens and cost', description: `Kept ${KEPT_DAYS} days.`, querystring: Query, response: { 200: UsageReply } }
  }, async ({ caller, query }) => {
    const to = query.to ?? dayOf(Date.now())
    const from = query.from ?? to
    const by = keysOf(query.by)
    // Of a day that no month has, the difference is no number.
    if (!(from <= to && Date.parse(to) - Date.parse(from) <= KEPT_DAYS * DAY)) {
      throw requestInvalid(`from and to: expected at most ${KEPT_DAYS} days in order, got ${from} and ${to}`, { part: 'query' })
    }
    const rows = await ledger.read(from, to, seesEverything(caller) ? by : [...by, 'token']).catch((error: Error) => { throw storeUnavailable(error.message) })
    return {
      from,
      to,
      by,
      pricesOf: ledger.prices.date,
      since: ledger.isShared ? undefined : new Date(ledger.since).toISOString(),
      rows: visible(rows, caller).sort((one, other) => other.calls - one.calls).map(row => describe(row, by))
    }
  })
}

function visible (rows: readonly UsageRow[], caller: Caller): UsageRow[] {
  return rows.filter(({ token }) => seesEverything(caller) || token === caller.name)
}

/** @throws REQUEST_INVALID */
function keysOf (text: string): UsageKey[] {
  const wanted = text.split(',').map(name => name.trim())
  const wrong = wanted.find(name => !USAGE_KEYS.some(key => key === name))
  if (wrong !== undefined) throw requestInvalid(`by: expected names out of ${USAGE_KEYS.join(', ')}, got "${wrong}"`, { part: 'query' })
  return USAGE_KEYS.filter(key => wanted.includes(key))
}

function describe ({ cost, ...row }: UsageRow, by: readonly UsageKey[]) {
  const others = Object.fromEntries(USAGE_KEYS.filter(key => !by.includes(key)).map(key => [key, undefined]))
  return { ...row, ...others, costUsd: row.calls > row.unpricedCalls ? cost / 1e9 : undefined }
}
