import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'

/** The page with the trace of a plan (the record of what it did): its configuration, context, cache, events and result. */
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
        {({ session, events, config_snapshot: config, context_stats: context, cache_stats: cache, result }) => (
          <div className='split aside'>
            <section className='panel'>
              <header><h2>{t.events}</h2><span className='quiet num'>{events.length}</span></header>
              <table>
                <tbody>
                  {events.slice(0, 2000).map((event, index) => {
                    const { event: name, at, ...rest } = event as Readonly<Record<string, unknown>>
                    return (
                      <tr key={index}>
                        <td className='mono'>{String(name)}</td>
                        <td className='quiet mono wrap'>
                          <Revealed text={wordsOf(rest)} />
                        </td>
                      </tr>
                    )
                  })}
                </tbody>
              </table>
            </section>
            <div className='stack'>
              <p><Link href={`/sessions/${session}`} className='button'>{t.toSession}</Link></p>
              {([[t.result, result], [t.configuration, config], [t.context, context], [t.cache, cache]] as const).map(([title, value]) => (
                <section key={title} className='panel'>
                  <header><h2>{title}</h2></header>
                  <pre className='body text' tabIndex={0} aria-label={title}><Revealed text={JSON.stringify(value, null, 1)} /></pre>
                </section>
              ))}
            </div>
          </div>
        )}
      </Loaded>
    </>
  )
}

function wordsOf (members: Readonly<Record<string, unknown>>): string {
  return Object.entries(members).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`).join(' ')
}
