import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, take, takeTagged } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { Editor } from '../edit/editor.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { duration, number } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { fieldsOf } from '../prompts/parameters.ts'
import { ValueField } from '../prompts/value-field.tsx'
import { t } from '../text/text.ts'
import { downWords, type ToolHealth } from './tool-health.ts'
import { UsedBy } from './used-by.tsx'

interface Statistics {
  readonly calls: number
  readonly cached: number
  readonly errors: number
  readonly lastError?: { readonly code: string, readonly message: string, readonly at: string }
  readonly latency?: { readonly p50: number, readonly p99: number, readonly max: number }
}

interface ToolReply extends ToolHealth {
  readonly id: string
  readonly function: string
  readonly parameters?: unknown
  readonly statistics?: Statistics
  readonly diagnostics: readonly unknown[]
}

/** The time between two requests for the state of the tool, in ms. */
const INTERVAL = 5000

/** The page of one tool: its state, a form to call it, its definition, and the prompts that call it. */
export function ToolPage ({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['registry', 'tool', id],
    queryFn: () => takeTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })),
    refetchInterval: INTERVAL
  })
  const mayWrite = useMay('write')
  return (
    <>
      <PageTitle title={id} mono crumbs={<Link href='/tools'>{t.tools}</Link>} />
      <Loaded query={query}>
        {({ value }) => {
          const tool = value as ToolReply
          const { diagnostics, preparation, breaker, statistics, id: _, function: name, ...definition } = tool
          return (
            <div className='split halves'>
              <div className='stack'>
                {mayWrite && <CallTool id={id} parameters={tool.parameters} />}
                <section className='panel'>
                  <header><h2>{t.definition}</h2></header>
                  <Editor value={JSON.stringify(definition, null, 2)} language='json' label={t.definition} />
                </section>
              </div>
              <div className='stack'>
                <ToolState name={name} tool={tool} />
                <UsedBy kind='tools' id={id} />
              </div>
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

function ToolState ({ name, tool }: { readonly name: string, readonly tool: ToolReply }) {
  const { statistics } = tool
  const down = downWords(tool)
  return (
    <section className='panel'>
      <header><h2>{t.state}</h2><span className='grow' /><span className={down === undefined ? 'chip good' : 'chip bad'}>{down ?? t.stateUsable}</span></header>
      <div className='body'>
        <dl className='facts'>
          <dt>{t.function}</dt>
          <dd className='mono'>{name}</dd>
          {statistics !== undefined && <StatisticsFacts statistics={statistics} />}
        </dl>
      </div>
    </section>
  )
}

function StatisticsFacts ({ statistics: { calls, cached, errors, latency, lastError } }: { readonly statistics: Statistics }) {
  return (
    <>
      <dt>{t.calls}</dt>
      <dd className='num'>{t.callsOf(number(calls), number(cached), number(errors))}</dd>
      {latency !== undefined && (
        <>
          <dt>{t.latency}</dt>
          <dd className='num'>p50 {duration(latency.p50)}, p99 {duration(latency.p99)}, max {duration(latency.max)}</dd>
        </>
      )}
      {lastError !== undefined && (
        <>
          <dt>{t.lastError}</dt>
          <dd className='wrap'><code>{lastError.code}</code> <Revealed text={lastError.message} />, <When at={lastError.at} /></dd>
        </>
      )}
    </>
  )
}

/** A form that calls a tool by hand, and shows the result. */
function CallTool ({ id, parameters }: { readonly id: string, readonly parameters: unknown }) {
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>({})
  const [outcome, setOutcome] = useState<{
    readonly value?: unknown
    readonly outcome: string
    readonly durationMs: number
    readonly error?: { readonly code: string, readonly message: string }
  }>()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const fields = fieldsOf(parameters, undefined)
  const call = async () => {
    setBusy(true)
    setError(undefined)
    try {
      setOutcome(await take(api.POST('/api/tools/{id}/call', { params: { path: { id } }, body: { arguments: values } })) as NonNullable<typeof outcome>)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
      void queries.invalidateQueries({ queryKey: ['registry', 'tool', id] })
    }
  }
  return (
    <form className='panel' onSubmit={event => { event.preventDefault(); void call() }}>
      <header><h2>{t.callByHand}</h2><span className='grow' /><button className='button primary small' disabled={isBusy}>{t.call}</button></header>
      {fields.length > 0 && (
        <div className='body form'>
          {fields.map(field => (
            <ValueField
              key={field.name}
              id={`a-${field.name}`}
              field={field}
              value={values[field.name]}
              problem={undefined}
              onChange={value => { setValues(before => ({ ...before, [field.name]: value })) }}
            />
          ))}
        </div>
      )}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
      {outcome !== undefined && (
        <div className='body foot' role='status'>
          <p className='row'>
            <span className={outcome.outcome === 'ok' || outcome.outcome === 'cached' ? 'chip good' : 'chip bad'}>{t.outcome(outcome.outcome)}</span>
            <span className='quiet num'>{duration(outcome.durationMs)}</span>
          </p>
          {outcome.error !== undefined && <p className='wrap'><code>{outcome.error.code}</code> <Revealed text={outcome.error.message} /></p>}
          <pre className='text'><Revealed text={JSON.stringify(outcome.value, null, 2) ?? ''} /></pre>
        </div>
      )}
    </form>
  )
}
