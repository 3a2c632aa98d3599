import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
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
import { isShortcut, letterOf } from '../parts/writing.ts'
import { t } from '../text/text.ts'
import { type SessionRow as Row, type Tree, useTree } from './children/tree.ts'
import { Definitions } from './start/definitions.tsx'
import { hasEnded, partsOf, stateOf } from './words.ts'

/** The deepest level of child sessions whose rows are indented more than those above. */
const DEEPEST = 4

/** The time between two requests for the list, in ms. */
const INTERVAL = 3000

/** The page with the sessions that the caller may see: first those that wait for somebody, then those that run, then those that have ended. */
export function SessionsPage () {
  const [search, setSearch] = useSearchParams()
  const [kind, of] = [search.get('kind') ?? '', search.get('of') ?? '']
  const mayRun = useMay('run')
  const query = useInfiniteQuery({
    queryKey: ['sessions', 'list', of],
    initialPageParam: '',
    queryFn: ({ pageParam }) => {
      const wish = { limit: 100, after: pageParam === '' ? undefined : pageParam, definition: of === '' ? undefined : of }
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
            <Group title={t.waitsForSomebody} rows={all.filter(isWaiting)} />
            <Group title={t.runsNow} rows={all.filter(row => row.status === 'running' && !isWaiting(row))} />
            <Group title={t.ended} rows={all.filter(({ status }) => hasEnded(status))} />
          </div>
          {query.hasNextPage && <MoreButton onPress={() => { void query.fetchNextPage() }} />}
        </>
      )}
    </>
  )
}

/** Whether a session, or one of its child sessions, waits for a person. */
function isWaiting ({ status, childrenWaiting = 0 }: Row): boolean {
  return status.startsWith('waiting') || (status === 'running' && childrenWaiting > 0)
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

/** The row of a session. When the user unfolds it, the rows of the sessions that it has started appear below it. */
function SessionRow ({ row, depth = 0 }: { readonly row: Row, readonly depth?: number }) {
  const { id, definition, status, owner, createdAt, updatedAt, childrenWaiting = 0 } = row
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status)
  const [isOpen, setOpen] = useState(false)
  const isTerminal = kind === 'terminals'
  return (
    <>
      <tr>
        <td>
          <span className='row' data-depth={Math.min(depth, DEEPEST)}>
            {kind === 'agents' && depth === 0 && (
              <button type='button' className='plain-text fold' aria-expanded={isOpen} aria-label={t.sessionsBelow(name)} onClick={() => { setOpen(!isOpen) }}>
                {isOpen ? '▾' : '▸'}
              </button>
            )}
            <Link href={isTerminal ? `/terminals/${id}` : `/sessions/${id}`} data-row><Revealed text={name} /></Link>
            <span className='quiet'>{t.kindOf(kind)}</span>
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
