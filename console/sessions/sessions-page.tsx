import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Choice, Filters } from '../parts/filters.tsx'
import { Icon } from '../parts/icons.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Rows } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { isShortcut, letterOf } from '../parts/writing.ts'
import { t } from '../text/text.ts'
import { type SessionRow as Row, type Tree, useTree } from './children/tree.ts'
import { daysOf, type Filter, filterIn, FILTERS, type Group, groupOf, GROUPS, type ListStatus, queryOf, RANGES, rangeOf } from './session-filter.ts'
import { Definitions } from './start/definitions.tsx'
import { partsOf, stateOf } from './words.ts'

/** The deepest level of child sessions whose rows are indented more than those above. */
const DEEPEST = 4

/** The time between two requests for a page of open sessions, and of ended ones, in ms. More pages are requested as much more seldom. */
const [INTERVAL, ENDED_INTERVAL] = [3000, 15_000]

/** How long nothing is typed before it is searched, in ms. */
const PAUSE = 250

/** Pages of a search may be empty, so further ones are read until this many rows are there, or so many pages. */
const [ROWS_WANTED, PAGES_UNASKED] = [20, 20]

/**
 * The page with the sessions that the caller may see: what waits for somebody, what runs, what can go on, and what has ended. What has not
 * ended is asked for by itself: however much has ended since, it stands first. The address holds all filters.
 */
export function SessionsPage () {
  const [search, setSearch] = useSearchParams()
  const filter = filterIn(search)
  const asked = useSettled(filter, search.toString())
  const mayRun = useMay('run')
  const { status } = asked
  const now = useList(asked, status === '' ? 'open' : status, true)
  const over = useList(asked, 'ended', status === '')
  useKeyOfStart()
  const change = (changed: Partial<Filter>, isTyped = false) => {
    const next = { ...filter, ...changed }
    setSearch(Object.fromEntries(FILTERS.filter(name => next[name] !== '').map(name => [name, next[name]])), { replace: isTyped })
  }
  const isFiltered = FILTERS.some(name => filter[name] !== '')
  const lists = status === '' ? [now, over] : [now]
  const rows = lists.flatMap(({ rows: read = [] }) => read)
  const isReading = lists.some(({ rows: read, isReading: isOn }) => read === undefined || isOn)
  const error = lists.find(({ query }) => query.error !== null)?.query.error ?? null
  return (
    <>
      <PageTitle title={t.sessions} note={t.sessionsNote}>
        {mayRun && <Link href='/sessions/new' className='button primary'><Icon name='plus' />{t.startSession}</Link>}
      </PageTitle>
      {error !== null && <ErrorNote error={error} onRetry={() => { for (const { query } of lists) void query.refetch() }} />}
      {(isFiltered || rows.length > 0) && <FilterBar filter={filter} isFiltered={isFiltered} owners={rows.map(({ owner }) => owner)} onChange={change} />}
      {rows.length === 0 && error === null && <NoRows isReading={isReading} isFiltered={isFiltered} />}
      <div className={lists.some(({ query }) => query.isPlaceholderData) ? 'stack groups stale' : 'stack groups'}>
        {GROUPS.map(group => <GroupPanel key={group} group={group} rows={rows.filter(row => groupOf(row) === group)} />)}
      </div>
      {lists.map(({ query, isReading: isOn }, index) => query.hasNextPage && !isOn && (
        <MoreButton key={index} onPress={() => { void query.fetchNextPage() }} />
      ))}
    </>
  )
}

function NoRows ({ isReading, isFiltered }: { readonly isReading: boolean, readonly isFiltered: boolean }) {
  if (isReading) return <p className='quiet loading' role='status'>{t.loading}</p>
  if (isFiltered) return <p className='quiet' role='status'>{t.nothingFits}</p>
  return <><Empty title={t.sessionsNone}>{t.sessionsNoneNext}</Empty><Definitions /></>
}

/** The value as it is once the address has not changed for a moment. */
function useSettled (value: Filter, address: string): Filter {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => { setSettled(value) }, PAUSE)
    return () => { clearTimeout(timer) }
  // The address says it all; the object is made anew with each render.
  }, [address])
  return settled
}

/** The sessions of a filter and a state, `undefined` until the first were read. */
function useList (filter: Filter, status: ListStatus, isWanted: boolean) {
  const wish = queryOf(filter, status)
  const interval = status === 'ended' ? ENDED_INTERVAL : INTERVAL
  const query = useInfiniteQuery({
    queryKey: ['sessions', 'list', wish],
    initialPageParam: '',
    queryFn: ({ pageParam }) => take(api.GET('/api/sessions', { params: { query: { ...wish, limit: 100, after: pageParam === '' ? undefined : pageParam } } })),
    getNextPageParam: ({ next }) => next,
    enabled: isWanted,
    placeholderData: before => before,
    refetchInterval: ({ state: { data } }) => interval * Math.max(1, data?.pages.length ?? 1)
  })
  const { data, hasNextPage, isFetching, fetchNextPage } = query
  const rows = data?.pages.flatMap(({ sessions }) => sessions)
  const isReading = isWanted && hasNextPage && (rows?.length ?? 0) < ROWS_WANTED && (data?.pages.length ?? 0) < PAGES_UNASKED
  useEffect(() => { if (isReading && !isFetching) void fetchNextPage() }, [isReading, isFetching, fetchNextPage])
  return { query, rows: isWanted ? rows : undefined, isReading }
}

function FilterBar ({ filter, isFiltered, owners, onChange }: {
  readonly filter: Filter
  readonly isFiltered: boolean
  readonly owners: readonly string[]
  readonly onChange: (changed: Partial<Filter>, isTyped?: boolean) => void
}) {
  const isAdmin = useMay('admin')
  const { q, status, kind, of, owner, since, until } = filter
  const range = rangeOf(filter)
  return (
    <Filters label={t.searchSessions} value={q} onChange={text => { onChange({ q: text }, true) }}>
      <Choice
        label={t.state} value={status} onChange={value => { onChange({ status: value as ListStatus | '' }) }}
        options={[
          ['', t.everyState], ['waiting', t.waitsForSomebody], ['running', t.runsNow], ['failed', t.stateFailed], ['completed', t.stateCompleted],
          ['cancelled', t.stateCancelled], ['expired', t.stateExpired], ['ended', t.ended]
        ]}
      />
      <Choice
        label={t.kind} value={kind} onChange={value => { onChange({ kind: value }) }}
        options={[['', t.everyKind], ['agents', t.agents], ['skills', t.skills], ['plans', t.plans], ['releases', t.changeRequests]]}
      />
      <Choice label={t.began} value={range} onChange={value => { onChange(daysOf(value)) }} options={RANGES.map(each => [each, t.rangeOf(each)])} />
      {range !== '' && (
        <>
          <input className='field auto' type='date' aria-label={t.beganFrom} value={since} onChange={event => { onChange({ since: event.target.value }) }} />
          <input className='field auto' type='date' aria-label={t.beganTo} value={until} onChange={event => { onChange({ until: event.target.value }) }} />
        </>
      )}
      {isAdmin && (
        <>
          <input
            className='field auto' list='owners' placeholder={t.owner} aria-label={t.owner} value={owner}
            onChange={event => { onChange({ owner: event.target.value }, true) }}
          />
          <datalist id='owners'>{[...new Set(owners)].map(each => <option key={each} value={each} />)}</datalist>
        </>
      )}
      {of !== '' && <button type='button' className='button plain' onClick={() => { onChange({ of: '' }) }}>{of} ✕</button>}
      {isFiltered && <Link href='/sessions' className='button plain'>{t.clearFilters}</Link>}
    </Filters>
  )
}

/** The key `n`, which opens the page that starts a session. */
function useKeyOfStart (): void {
  const [, go] = useLocation()
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (letterOf(event) === 'n' && isShortcut(event)) go('/sessions/new')
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [go])
}

function GroupPanel ({ group, rows }: { readonly group: Group, readonly rows: readonly Row[] }) {
  if (rows.length === 0) return null
  return (
    <section className='panel'>
      <header><h2>{t.groupOf(group)}</h2><span className='quiet num'>{rows.length}</span></header>
      <Rows columns={[t.session, t.state, [t.owner, 'wide'], [t.began, 'wide'], t.changed]}>
        {rows.map(row => <SessionRow key={row.id} row={row} />)}
      </Rows>
    </section>
  )
}

/** The row of a session. When the user unfolds it, the rows of the sessions that it has started appear below it. */
function SessionRow ({ row, depth = 0 }: { readonly row: Row, readonly depth?: number }) {
  const { id, definition, status, word, title, problem, owner, createdAt, updatedAt, childrenWaiting = 0 } = row
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status, word)
  const [isOpen, setOpen] = useState(false)
  const isTerminal = kind === 'terminals'
  return (
    <>
      <tr>
        <td>
          <span className='row' data-depth={Math.min(depth, DEEPEST)}>
            {kind === 'agents' && depth === 0 && (
              <button type='button' className='plain-text fold' aria-expanded={isOpen} aria-label={t.sessionsBelow(name)} onClick={() => { setOpen(!isOpen) }}>
                <span className='fold' aria-hidden='true'>›</span>
              </button>
            )}
            <span className='entitled'>
              <Link href={isTerminal ? `/terminals/${id}` : `/sessions/${id}`} data-row><Revealed text={title ?? name} /></Link>
              <span className='quiet'>{title === undefined ? t.kindOf(kind) : `${t.kindOf(kind)} ${name}`}</span>
              {problem !== undefined && (
                <span className={status === 'failed' ? 'why alarm' : 'why quiet'}><Revealed text={problem.message || problem.code} /></span>
              )}
            </span>
          </span>
        </td>
        <td>
          <span className='chips'>
            <span className={`chip ${tone}`}>{words}</span>
            {childrenWaiting > 0 && <span className='chip warn'>{t.belowWait(childrenWaiting)}</span>}
          </span>
        </td>
        <td className='wide quiet'>{owner}</td>
        <td className='wide quiet'><When at={createdAt} /></td>
        <td className='quiet'><When at={updatedAt} /></td>
      </tr>
      {isOpen && <RowsBelow id={id} />}
    </>
  )
}

/** The rows of all sessions below a session, each after the session that has started it. */
function RowsBelow ({ id }: { readonly id: string }) {
  const tree = useTree({ id, seq: 0, status: 'running' }).data
  if (tree === undefined) return null
  const rows = withDepth(tree.children, 1)
  if (rows.length === 0) return <tr><td colSpan={5} className='quiet'>{t.treeNone}</td></tr>
  return <>{rows.map(({ row, depth }) => <SessionRow key={row.id} row={row} depth={depth} />)}</>
}

function withDepth (trees: readonly Tree[], depth: number): ReadonlyArray<{ readonly row: Tree, readonly depth: number }> {
  return trees.flatMap(tree => [{ row: tree, depth }, ...withDepth(tree.children, depth + 1)])
}
