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
import { UsedBy } from './used-by.tsx'

interface ToolReply {
  readonly id: string
  readonly function: string
  readonly description?: unknown
  readonly parameters?: unknown
  readonly preparation?: string
  readonly breaker?: { readonly state: string, readonly failures: number, readonly calls: number }
  readonly statistics?: { readonly calls: number, readonly cached: number, readonly errors: number, readonly lastError?: { readonly code: string, readonly message: string, readonly at: string }, readonly latency?: { readonly p50: number, readonly p99: number, readonly max: number } }
  readonly diagnostics: readonly unknown[]
}

/** One tool: how it is, a call by hand, its definition, and which prompts call it. */
export function ToolPage ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['registry', 'tool', id], queryFn: () => takeTagged(api.GET('/api/tools/{id}', { params: { path: { id } } })), refetchInterval: 5000 })
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
                <section className='panel'><header><h2>{t.definition}</h2></header><Editor value={JSON.stringify(definition, null, 2)} language='json' label={t.definition} /></section>
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

function ToolState ({ name, tool: { preparation, breaker, statistics } }: { readonly name: string, readonly tool: ToolReply }) {
  const isDown = preparation === 'failed' || breaker?.state === 'open'
  return (
    <section className='panel'>
      <header><h2>{t.state}</h2><span className='grow' />{isDown ? <span className='chip bad'>{preparation === 'failed' ? t.notConnected : t.breakerOpen}</span> : <span className='chip good'>{t.stateUsable}</span>}</header>
      <div className='body'>
        <dl className='facts'>
          <dt>{t.function}</dt>
          <dd className='mono'>{name}</dd>
          {statistics !== undefined && <><dt>{t.calls}</dt><dd className='num'>{t.callsOf(number(statistics.calls), number(statistics.cached), number(statistics.errors))}</dd></>}
          {statistics?.latency !== undefined && <><dt>{t.latency}</dt><dd className='num'>p50 {duration(statistics.latency.p50)}, p99 {duration(statistics.latency.p99)}, max {duration(statistics.latency.max)}</dd></>}
          {statistics?.lastError !== undefined && <><dt>{t.lastError}</dt><dd className='wrap'><code>{statistics.lastError.code}</code> <Revealed text={statistics.lastError.message} />, <When at={statistics.lastError.at} /></dd></>}
        </dl>
      </div>
    </section>
  )
}
