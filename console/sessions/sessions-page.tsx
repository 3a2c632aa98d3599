import { useInfiniteQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useEffect } from 'react'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icons.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { Definitions } from './start/definitions.tsx'
import { hasEnded, partsOf, stateOf } from './words.ts'

/** The sessions of the caller: what waits for somebody first, then what runs, then what has ended. */
export function SessionsPage () {
  const [search, setSearch] = useSearchParams()
  const [, go] = useLocation()
  const kind = search.get('kind') ?? ''
  const mayRun = useMay('run')
  const query = useInfiniteQuery({
    queryKey: ['sessions', 'list'],
    initialPageParam: '',
    queryFn: ({ pageParam }) => take(api.GET('/api/sessions', { params: { query: { limit: 100, ...(pageParam === '' ? {} : { after: pageParam }) } } })),
    getNextPageParam: ({ next }) => next,
    refetchInterval: 3000
  })
  useEffect(() => {
    const press = ({ key, target, ctrlKey, metaKey }: KeyboardEvent) => { if (key === 'n' && !ctrlKey && !metaKey && target === document.body) go('/sessions/new') }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [go])
  const all = query.data?.pages.flatMap(({ sessions }) => sessions).filter(({ definition }) => kind === '' || definition.startsWith(`${kind}/`))
  const groups = [
    { title: t.waitsForSomebody, rows: all?.filter(({ status }) => status.startsWith('waiting')) ?? [] },
    { title: t.runsNow, rows: all?.filter(({ status }) => status === 'running') ?? [] },
    { title: t.ended, rows: all?.filter(({ status }) => hasEnded(status)) ?? [] }
  ]
  return (
    <>
      <PageTitle title={t.sessions} note={t.sessionsNote}>{mayRun && <Link href='/sessions/new' className='button primary'><Icon name='plus' />{t.startSession}</Link>}</PageTitle>
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      {all !== undefined && all.length === 0 && kind === '' && <><Empty title={t.sessionsNone}>{t.sessionsNoneNext}</Empty><Definitions /></>}
      {all !== undefined && (all.length > 0 || kind !== '') && (
        <>
          <div className='filters'>
            <select
              className='field auto'
              aria-label={t.kind}
              value={kind}
              onChange={event => { setSearch(event.target.value === '' ? {} : { kind: event.target.value }) }}
            >
              <option value=''>{t.everyKind}</option>
              <option value='agents'>{t.agents}</option>
              <option value='skills'>{t.skills}</option>
              <option value='plans'>{t.plans}</option>
            </select>
          </div>
          <div className='stack'>
            {groups.filter(({ rows }) => rows.length > 0).map(({ title, rows }) => (
              <section key={title} className='panel'>
                <header><h2>{title}</h2><span className='quiet num'>{rows.length}</span></header>
                <table>
                  <thead><tr><th scope='col'>{t.definition}</th><th scope='col'>{t.state}</th><th scope='col' className='wide'>{t.owner}</th><th scope='col' className='wide'>{t.began}</th><th scope='col'>{t.changed}</th></tr></thead>
                  <tbody>
                    {rows.map(({ id, definition, status, owner, createdAt, updatedAt }) => {
                      const { words, tone } = stateOf(status)
                      return <tr key={id}><td><Link href={`/sessions/${id}`} data-row><Revealed text={partsOf(definition).name} /></Link> <span className='quiet'>{t.kindOf(partsOf(definition).kind)}</span></td><td><span className={`chip ${tone}`}>{words}</span></td><td className='wide quiet'>{owner}</td><td className='wide quiet'><When at={createdAt} /></td><td className='quiet'><When at={updatedAt} /></td></tr>
                    })}
                  </tbody>
                </table>
              </section>
            ))}
          </div>
          {query.hasNextPage && <p className='after'><button type='button' className='button' onClick={() => { void query.fetchNextPage() }}>{t.showMore}</button></p>}
        </>
      )}
    </>
  )
}
