import { seesEverything } from '../../access/caller.ts'
import { Type } from '../../schema/builder.ts'
import type { Service } from '../../service.ts'
import type { Budgets } from '../../service/budgets.ts'
import { DAY, dayOf, TIMES, USAGE_KEYS, type UsageKey, type UsageRow } from '../../service/usage.ts'
import { KEPT_DAYS, MAX_ROWS } from '../../store/usage-store.ts'
import { requestInvalid, storeUnavailable } from '../../base/errors.ts'
import type { App } from '../app.ts'
import { oneOf } from '../schemas.ts'

const Day = (description: string) => Type.Optional(Type.String({ pattern: '^\\d{4}-\\d{2}-\\d{2}$', description, examples: ['2026-01-31'] }))

const Wanted = (what: string) => Type.Optional(Type.String({ maxLength: 600, description: `Only rows of ${what}; empty for those without one` }))

const Query = Type.Object({
  from: Day('The first day, in UTC; left out: `to`'),
  to: Day('The last day, in UTC; left out: today'),
  by: Type.String({ maxLength: 100, default: 'model', description: `What a row is about, out of ${USAGE_KEYS.join(', ')}, with commas between them` }),
  token: Wanted('this token'),
  prompt: Wanted('this prompt or definition'),
  version: Wanted('this version'),
  label: Wanted('this label'),
  model: Wanted('this model')
})

const Row = Type.Object({
  day: Type.Optional(Type.String()),
  token: Type.Optional(Type.String({ description: 'Its name; empty where none is asked for' })),
  prompt: Type.Optional(Type.String({ description: 'Or a definition, such as agents/helper; empty for calls without one' })),
  version: Type.Optional(Type.String()),
  label: Type.Optional(Type.String()),
  model: Type.Optional(Type.String({ description: 'As the API names it in its answers' })),
  calls: Type.Integer(),
  errors: Type.Integer({ description: 'Of the calls: those that failed or were cut, not those that their caller left' }),
  timedCalls: Type.Integer({ description: 'Of the calls: those that were answered to their end' }),
  p95Ms: Type.Optional(Type.Integer({ description: `95 of 100 of these took at most so long, told as one of ${TIMES.join(', ')}; left out where there are none, or it was longer` })),
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
  since: Type.Optional(Type.String({ format: 'date-time', description: 'Without Redis, what was counted since this start of the service' })),
  ofToken: Type.Optional(Type.String({ description: 'The only token whose calls are told: that of a caller who may not see all' })),
  rows: Type.Array(Row, { description: `The most calls first; those beyond ${MAX_ROWS}, and beyond as many of a day, are one, whose names are (others)` })
})

const BudgetsReply = Type.Object({
  budgets: Type.Array(Type.Object({
    name: Type.String(),
    period: oneOf(['day', 'month']),
    unit: oneOf(['usd', 'tokens']),
    most: Type.Number({ description: 'In the unit' }),
    used: Type.Number({ description: 'With what calls under way hold' }),
    ends: Type.String({ format: 'date-time', description: 'When it begins anew' }),
    tokens: Type.Optional(Type.Array(Type.String(), { description: 'Names; left out: all callers together' })),
    prompts: Type.Optional(Type.Array(Type.String(), { description: 'Patterns of prompts and definitions; left out: all' }))
  }))
})

const ROLES = { role: 'read', orRoles: ['chat'], fails: ['STORE_UNAVAILABLE'] } as const

/** Whoever sees all entries sees all rows and budgets; others those of their own token. */
export function usageRoutes (app: App, { usage: ledger, budgets }: Pick<Service, 'usage' | 'budgets'>): void {
  const seen = <T>(work: Promise<T>): Promise<T> => work.catch((error: Error) => { throw storeUnavailable(error.message) })

  app.get('/api/usage', {
    config: { ...ROLES, fails: [...ROLES.fails] },
    schema: { tags: ['Status'], operationId: 'getUsage', summary: 'Calls of models, their tokens and cost', description: `Kept ${KEPT_DAYS} days.`, querystring: Query, response: { 200: UsageReply } }
  }, async ({ caller, query: { to = dayOf(Date.now()), from = to, by: names, token, prompt, version, label, model } }) => {
    const by = keysOf(names)
    // Of a day that no month has, the difference is no number.
    if (!(from <= to && Date.parse(to) - Date.parse(from) <= KEPT_DAYS * DAY)) {
      throw requestInvalid(`from and to: expected at most ${KEPT_DAYS} days in order, got ${from} and ${to}`, { part: 'query' })
    }
    const ofToken = seesEverything(caller) ? undefined : caller.name
    const isOthers = ofToken !== undefined && token !== undefined && token !== ofToken
    const rows = isOthers ? [] : await seen(ledger.read(from, to, by, { token: ofToken ?? token, prompt, version, label, model }))
    const since = await seen(ledger.since())
    return {
      from,
      to,
      by,
      pricesOf: ledger.prices.date,
      since: since === undefined ? undefined : new Date(since).toISOString(),
      ofToken,
      rows: rows.toSorted((one, other) => other.calls - one.calls).map(row => describe(row, by))
    }
  })

  app.get('/api/usage/budgets', {
    config: { ...ROLES, fails: [...ROLES.fails] },
    schema: { tags: ['Status'], operationId: 'listBudgets', summary: 'Budgets, and what is used of them', response: { 200: BudgetsReply } }
  }, async ({ caller }) => {
    const ofToken = seesEverything(caller) ? undefined : caller
    return { budgets: (await seen(budgets.list(ofToken))).map(budget => describeBudget(budget, ofToken?.name)) }
  })
}

/** Names of other tokens are not told to a token. */
function describeBudget ({ name, period, unit, most, used, ends, tokens, prompts }: Awaited<ReturnType<Budgets['list']>>[number], ofToken: string | undefined) {
  const scale = unit === 'usd' ? 1e9 : 1
  return {
    name,
    period,
    unit,
    most: most / scale,
    used: used / scale,
    ends: new Date(ends).toISOString(),
    tokens: tokens && (ofToken === undefined ? [...tokens] : [ofToken]),
    prompts: prompts && [...prompts]
  }
}

/** @throws REQUEST_INVALID */
function keysOf (text: string): UsageKey[] {
  const wanted = text.split(',').map(name => name.trim())
  const wrong = wanted.find(name => !USAGE_KEYS.some(key => key === name))
  if (wrong !== undefined) throw requestInvalid(`by: expected names out of ${USAGE_KEYS.join(', ')}, got "${wrong}"`, { part: 'query' })
  return USAGE_KEYS.filter(key => wanted.includes(key))
}

function describe ({ cost, p95, ...row }: UsageRow, by: readonly UsageKey[]) {
  const others = Object.fromEntries(USAGE_KEYS.filter(key => !by.includes(key)).map(key => [key, undefined]))
  return { ...row, ...others, p95Ms: p95 === Infinity ? undefined : p95, costUsd: row.calls > row.unpricedCalls ? cost / 1e9 : undefined }
}
