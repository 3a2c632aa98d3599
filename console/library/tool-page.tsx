import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, takeTagged } from '../api/client.ts'
import { Editor } from '../edit/editor.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { duration, number } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { CallTool } from './call-tool.tsx'
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
