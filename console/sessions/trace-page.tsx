import { useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Rows } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { type Facts, record } from './audit.ts'
import { Timeline } from './timeline.tsx'

/** The page with the trace of a plan (the record of what it did): its events and its timeline in words, its configuration, context, cache and result. */
export function TracePage ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['trace', id], queryFn: () => take(api.GET('/api/traces/{id}', { params: { path: { id } } })), staleTime: 0 })
  const [error, setError] = useState<unknown>()
  const makeGolden = async () => {
    try {
      setError(undefined)
      const golden = await take(api.POST('/api/traces/{id}/golden', { params: { path: { id } } }))
      const link = document.createElement('a')
      link.href = URL.createObjectURL(new Blob([JSON.stringify(golden, null, 2)], { type: 'application/json' }))
      link.download = `${id}.golden.json`
      link.click()
      URL.revokeObjectURL(link.href)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <PageTitle title={`${t.trace} ${id.slice(0, 8)}`} crumbs={<Link href='/traces'>{t.traces}</Link>}>
        <button type='button' className='button' onClick={() => { void makeGolden() }}>{t.makeGolden}</button>
      </PageTitle>
      {error !== undefined && <ErrorNote error={error} />}
      <Loaded query={query}>
        {trace => {
          const { session, events, config_snapshot: config, context_stats: context, cache_stats: cache, result } = trace
          return (
            <div className='split aside'>
              <div className='stack'>
                <section className='panel'>
                  <header><h2>{t.events}</h2><span className='quiet num'>{events.length}</span></header>
                  <Rows columns={[t.began, t.happened]}>
                    {events.slice(0, MOST).map((event, index) => <EventRow key={index} event={event as Facts} />)}
                  </Rows>
                </section>
                <Timeline id={session} count={0} />
              </div>
              <div className='stack'>
                <p><Link href={`/sessions/${session}`} className='button'>{t.toSession}</Link></p>
                {([[t.result, result], [t.configuration, config], [t.context, context], [t.cache, cache]] as const).map(([title, value]) => (
                  <section key={title} className='panel'>
                    <header><h2>{title}</h2></header>
                    <div className='body'><Members of={record(value)} /></div>
                  </section>
                ))}
                <details className='ran'>
                  <summary>{t.asJson}</summary>
                  <pre tabIndex={0} aria-label={t.asJson}><Revealed text={JSON.stringify(trace, null, 2)} /></pre>
                </details>
              </div>
            </div>
          )
        }}
      </Loaded>
    </>
  )
}

/** How many events are shown. */
const MOST = 2000

function EventRow ({ event }: { readonly event: Facts }) {
  const { event: name, at } = event
  const of = (member: string): string => event[member] === undefined ? '?' : shown(event[member])
  return (
    <tr>
      <td className='quiet'>{typeof at === 'string' && <When at={at} exact />}</td>
      <td className='wrap'><Revealed text={t.traceEvent(String(name), of)} /> <code className='quiet'>{String(name)}</code></td>
    </tr>
  )
}

/** The longest value that stands beside its name, in UTF-16 units. */
const SHORT = 24

function Members ({ of }: { readonly of: Facts }) {
  return (
    <dl className='facts'>
      {Object.entries(of).map(([name, value]) => {
        const text = shown(value)
        return (
          <Fragment key={name}>
            <dt>{name}</dt>
            <dd className={text.length > SHORT ? 'mono wrap whole' : 'mono wrap'}><Revealed text={text} /></dd>
          </Fragment>
        )
      })}
    </dl>
  )
}

function shown (value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
