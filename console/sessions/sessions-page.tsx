import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import type { paths } from '../../.build/api.d.ts'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Choice } from '../parts/filters.tsx'
import { Icon } from '../parts/icons.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Rows } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { isWriting } from '../parts/writing.ts'
import { t } from '../text/text.ts'
import { Definitions } from './start/definitions.tsx'
import { hasEnded, partsOf, stateOf } from './words.ts'

type Row = paths['/api/sessions']['get']['responses']['200']['content']['application/json']['sessions'][number]

/** Time between two looks at the list, in ms. */
const INTERVAL = 3000

/** The sessions that the caller may see: what waits first, then what runs, then what has ended. */
export function SessionsPage () {
  const [search, setSearch] = useSearchParams()
  const [kind, of] = [search.get('kind') ?? '', search.get('of') ?? '']
  const mayRun = useMay('run')
  const query = useInfiniteQuery({
    queryKey: ['sessions', 'list', of],
    initialPageParam: '',
    queryFn: ({ pageParam }) => {
      const wish = { limit: 100, ...(pageParam === '' ? {} : { after: pageParam }), ...(of === '' ? {} : { definition: of }) }
      return take(api.GET('/api/sessions', { params: { query: wish } }))
    },
    getNextPageParam: ({ next }) => next,
    refetchInterval: INTERVAL
  })
  useKeyOfStart()
  const all = query.data?.pages.flatMap(({ sessions }) => sessions).filter(({ definition }) => kind === '' || definition.startsWith(`${kind}/`))
  const isFiltered = kind !== '' || of !== ''
  return (
    <>
      <PageTitle title={t.sessions} note={t.sessionsNote}>
        {mayRun && <Link href='/sessions/new' className='button primary'><Icon name='plus' />{t.startSession}</Link>}
      </PageTitle>
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      {all?.length === 0 && !isFiltered && <><Empty title={t.sessionsNone}>{t.sessionsNoneNext}</Empty><Definitions /></>}
      {all !== undefined && (all.length > 0 || isFiltered) && (
        <>
          <div className='filters'>
            <Choice
              label={t.kind} value={kind} onChange={value => { setSearch(value === '' ? {} : { kind: value }) }}
              options={[['', t.everyKind], ['agents', t.agents], ['skills', t.skills], ['plans', t.plans]]}
            />
            {of !== '' && <Link href='/sessions' className='button plain'>{of} ✕</Link>}
          </div>
          {all.length === 0 && <p className='quiet'>{t.nothingFits}</p>}
          <div className='stack'>
            <Group title={t.waitsForSomebody} rows={all.filter(({ status }) => status.startsWith('waiting'))} />
            <Group title={t.runsNow} rows={all.filter(({ status }) => status === 'running')} />
            <Group title={t.ended} rows={all.filter(({ status }) => hasEnded(status))} />
          </div>
          {query.hasNextPage && <MoreButton onPress={() => { void query.fetchNextPage() }} />}
        </>
      )}
    </>
  )
}

/** `n` leads to the start of a session. */
function useKeyOfStart (): void {
  const [, go] = useLocation()
  useEffect(() => {
    const press = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => { if (key === 'n' && !ctrlKey && !metaKey && !altKey && !isWriting(target)) go('/sessions/new') }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [go])
}

function Group ({ title, rows }: { readonly title: string, readonly rows: readonly Row[] }) {
  if (rows.length === 0) return null
  return (
    <section className='panel'>
      <header><h2>{title}</h2><span className='quiet num'>{rows.length}</span></header>
      <Rows columns={[t.definition, t.state, [t.owner, 'wide'], [t.began, 'wide'], t.changed]}>
        {rows.map(row => <SessionRow key={row.id} row={row} />)}
      </Rows>
    </section>
  )
}

function SessionRow ({ row: { id, definition, status, owner, createdAt, updatedAt } }: { readonly row: Row }) {
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status)
  return (
    <tr>
      <td><Link href={`/sessions/${id}`} data-row><Revealed text={name} /></Link> <span className='quiet'>{t.kindOf(kind)}</span></td>
      <td><span className={`chip ${tone}`}>{words}</span></td>
      <td className='wide quiet'>{owner}</td>
      <td className='wide quiet'><When at={createdAt} /></td>
      <td className='quiet'><When at={updatedAt} /></td>
    </tr>
  )
}
