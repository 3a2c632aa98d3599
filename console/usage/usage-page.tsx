import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useSearchParams } from 'wouter'
import { api, take } from '../api/client.ts'
import { costWords, money } from '../parts/cost.ts'
import { Empty } from '../parts/empty.tsx'
import { Choice } from '../parts/filters.tsx'
import { Loaded } from '../parts/loading.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Rows } from '../parts/table.tsx'
import { number } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { dayBefore, lastDays, timeWords, type Usage, useUsage } from './usage.ts'

const RANGES = [30, 7, 1, 90] as const
const BY = ['prompt', 'token', 'model', 'label', 'day'] as const
/** By these a row can be looked into. */
const FILTERS = ['token', 'prompt', 'model'] as const
const MEASURES = ['calls', 'tokens', 'cost'] as const

type Filter = typeof FILTERS[number]

/** Rows shown at first, and more at a time. */
const PAGE = 100

const MEASURED: Readonly<Record<typeof MEASURES[number], (row: Usage) => number>> = {
  calls: ({ calls }) => calls,
  tokens: ({ inputTokens, outputTokens }) => inputTokens + outputTokens,
  cost: ({ costUsd = 0 }) => costUsd
}

/** What calls of models used and cost, by whom, for what and when, and what is left of budgets. The address holds what is looked at. */
export function UsagePage () {
  const [search, setSearch] = useSearchParams()
  const chosen = <T extends string | number>(name: string, values: readonly [T, ...T[]]): T => (
    values.find(value => String(value) === search.get(name)) ?? values[0]
  )
  const [days, by] = [chosen('days', RANGES), chosen('by', BY)]
  const only: Partial<Record<Filter, string>> = {}
  for (const name of FILTERS) if (search.has(name)) only[name] = search.get(name) ?? ''
  const change = (changed: Readonly<Record<string, string | undefined>>) => {
    const next = { ...Object.fromEntries(search), ...changed }
    setSearch(Object.fromEntries(Object.entries(next).flatMap(([name, value]) => value === undefined ? [] : [[name, value]])))
  }
  const range = lastDays(days)
  const byDay = useUsage({ ...range, ...only, by: 'day' })
  const rows = useUsage({ ...range, ...only, by })
  return (
    <>
      <PageTitle title={t.usage} note={t.usageNote} />
      <div className='filters'>
        <Choice
          label={t.usageTime} value={String(days)} onChange={value => { change({ days: value }) }}
          options={RANGES.map(each => [String(each), t.lastDays(each)])}
        />
        <Choice label={t.usageBy} value={by} onChange={value => { change({ by: value }) }} options={BY.map(each => [each, t.usageByOf(each)])} />
        {FILTERS.map(name => only[name] !== undefined && (
          <button
            key={name}
            type='button'
            className='button plain'
            aria-label={t.usageWithout(nameOf(name, only[name]))}
            onClick={() => { change({ [name]: undefined }) }}
          >
            <span className='cut'>{nameOf(name, only[name])}</span> ✕
          </button>
        ))}
      </div>
      <div className={byDay.isPlaceholderData || rows.isPlaceholderData ? 'stack stale' : 'stack'}>
        <Loaded query={byDay}>
          {({ rows: counted, since, ofToken, pricesOf }) => (
            <>
              {ofToken !== undefined && <p className='note'>{t.usageOfToken(ofToken)}</p>}
              {counted.length === 0
                ? <Empty title={t.usageNone}>{t.usageNoneNext}</Empty>
                : <Days rows={counted} days={days} measure={chosen('of', MEASURES)} onMeasure={of => { change({ of }) }} />}
              <p className='hint'>
                {t.pricesOf(pricesOf)} {since !== undefined && <>{t.usageSince} <When at={since} />.</>}
              </p>
            </>
          )}
        </Loaded>
        <Loaded query={rows}>
          {({ rows: counted }) => counted.length > 0 && (
            <UsageTable
              key={by} by={by} rows={counted}
              onLook={isFilter(by) ? name => { change({ [by]: name, by: by === 'prompt' ? 'model' : 'prompt' }) } : undefined}
            />
          )}
        </Loaded>
        <Budgets />
      </div>
    </>
  )
}

function isFilter (by: string): by is Filter {
  return FILTERS.some(each => each === by)
}

/** What stands in place of a name that there is none of. */
function nameOf (by: string, name = ''): string {
  return name === '' ? t.usageUnnamed(by) : name
}

/** A bar for each day, and the sums of all. */
function Days ({ rows, days, measure, onMeasure }: {
  readonly rows: readonly Usage[]
  readonly days: number
  readonly measure: typeof MEASURES[number]
  readonly onMeasure: (measure: string) => void
}) {
  const byDay = new Map(rows.map(row => [row.day, row]))
  const all = Array.from({ length: days }, (_, index) => dayBefore(days - 1 - index)).map(day => ({ day, row: byDay.get(day) }))
  const values = all.map(({ row }) => row === undefined ? 0 : MEASURED[measure](row))
  const most = Math.max(...values)
  const words = measure === 'cost' ? money : number
  const peak = all[values.indexOf(most)]?.day ?? ''
  const sum = (name: 'calls' | 'errors' | 'inputTokens' | 'outputTokens' | 'unpricedCalls') => rows.reduce((total, row) => total + row[name], 0)
  const priced = rows.flatMap(({ costUsd }) => costUsd ?? [])
  const cost = { costUsd: priced.length === 0 ? undefined : priced.reduce((total, each) => total + each, 0), unpricedCalls: sum('unpricedCalls') }
  return (
    <section className='panel'>
      <header>
        <h2>{t.usageSum}</h2>
        <span className='grow wrap num'>
          {[
            t.callsCounted(sum('calls'), number(sum('calls'))), t.errorsCounted(sum('errors'), number(sum('errors'))),
            t.tokensUsed(number(sum('inputTokens') + sum('outputTokens'))), costWords(cost)
          ].join(' · ')}
        </span>
        <Choice label={t.usageMeasure} value={measure} onChange={onMeasure} options={MEASURES.map(each => [each, t.measureOf(each)])} />
      </header>
      <div className='body'>
        <div className='day-bars' role='img' aria-label={t.mostOn(t.measureOf(measure), words(most), peak)}>
          {all.map(({ day }, index) => (
            <span key={day} title={`${day}: ${words(values[index] ?? 0)}`}>
              <span style={{ height: `${most === 0 ? 0 : 100 * (values[index] ?? 0) / most}%` }} />
            </span>
          ))}
        </div>
        <div className='row quiet num'><span className='grow'>{all[0]?.day}</span>{days > 1 && <span>{all.at(-1)?.day}</span>}</div>
      </div>
    </section>
  )
}

function UsageTable ({ by, rows, onLook }: {
  readonly by: typeof BY[number]
  readonly rows: readonly Usage[]
  readonly onLook: ((name: string) => void) | undefined
}) {
  const [most, setMost] = useState(PAGE)
  const sorted = by === 'day' ? [...rows].sort((a, b) => a.day === b.day ? 0 : (a.day ?? '') < (b.day ?? '') ? 1 : -1) : rows
  return (
    <>
      <div className='panel'>
        <Rows columns={[t.usageByOf(by), [t.calls, 'right'], [t.errors, 'right'], [t.p95, 'right wide'], [t.tokens, 'right wide'], [t.cost, 'right']]}>
          {sorted.slice(0, most).map(row => {
            const name = row[by] ?? ''
            return (
              <tr key={name}>
                <td className='wrap'>
                  {onLook === undefined || name === '(others)'
                    ? <Revealed text={name === '(others)' ? t.usageOthers : nameOf(by, name)} />
                    : <button type='button' className='plain-text line' onClick={() => { onLook(name) }}><Revealed text={nameOf(by, name)} /></button>}
                </td>
                <td className='right num'>{number(row.calls)}</td>
                <td className='right num'>{number(row.errors)}</td>
                <td className='right num wide'>{timeWords(row)}</td>
                <td className='right num wide' title={t.tokensOf(number(row.inputTokens), number(row.outputTokens))}>
                  {number(row.inputTokens + row.outputTokens)}
                </td>
                <td className='right num'>{costWords(row)}</td>
              </tr>
            )
          })}
        </Rows>
      </div>
      {sorted.length > most && <MoreButton onPress={() => { setMost(most + PAGE) }} />}
    </>
  )
}

/** The operator's budgets that bind the caller, how much of each is used, and when it begins anew. */
function Budgets () {
  const query = useQuery({ queryKey: ['usage', 'budgets'], queryFn: () => take(api.GET('/api/usage/budgets', {})), refetchInterval: 60_000 })
  return (
    <section className='panel' aria-labelledby='budgets'>
      <header><h2 id='budgets'>{t.budgets}</h2></header>
      <Loaded query={query}>
        {({ budgets }) => (
          <ul>
            {budgets.length === 0 && <li className='item quiet'>{t.budgetsNone}</li>}
            {budgets.map(({ name, period, unit, most, used, ends, tokens, prompts }) => {
              const words = unit === 'usd' ? money : number
              const said = t.budgetUsed(words(used), words(most), unit, period)
              return (
                <li key={`${name} ${period} ${unit}`} className='item stack tight'>
                  <div className='row wrap-row'>
                    <b>{name}</b> <span className='num'>{said}</span>
                    {used >= most && <span className='chip bad'>{t.budgetIsUsed}</span>}
                    {used < most && used >= most * 0.8 && <span className='chip warn'>{t.budgetNearlyUsed}</span>}
                    <span className='grow' />
                    <span className='quiet'>{t.anewAt} <When at={ends} /></span>
                  </div>
                  <progress className='used' max={most} value={Math.min(used, most)} aria-label={`${name}: ${said}`} />
                  {(tokens !== undefined || prompts !== undefined) && <span className='quiet wrap'>{t.budgetOf(tokens?.join(', '), prompts?.join(', '))}</span>}
                </li>
              )
            })}
          </ul>
        )}
      </Loaded>
    </section>
  )
}
