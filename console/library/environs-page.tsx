import { useQueries, useQuery } from '@tanstack/react-query'
import { Fragment, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { paths } from '../../.build/api.d.ts'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { listEnvirons } from '../api/listings.ts'
import { Empty } from '../parts/empty.tsx'
import { Filters } from '../parts/filters.tsx'
import { Loaded } from '../parts/loading.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Table } from '../parts/table.tsx'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { Users } from './used-by.tsx'

const ROWS = 100

/** The page with all shared variables: their names, the beginnings of their values, and how many prompts use them. */
export function EnvironsPage () {
  const query = useQuery({ queryKey: ['registry', 'environs'], queryFn: listEnvirons })
  const mayWrite = useMay('write')
  const [, go] = useLocation()
  const [id, setId] = useState('')
  return (
    <>
      <PageTitle title={t.variables} note={t.variablesNote}>
        {mayWrite && (
          <form className='row' onSubmit={event => { event.preventDefault(); go(`/environs/${encodeURIComponent(id.trim())}`) }}>
            <input
              className='field mono'
              aria-label={t.newVariable}
              placeholder='company.name'
              required
              pattern='\S+'
              spellCheck={false}
              value={id}
              onChange={event => { setId(event.target.value) }}
            />
            <button className='button'>{t.newVariable}</button>
          </form>
        )}
      </PageTitle>
      <Loaded query={query}>{ids => ids.length === 0 ? <Empty title={t.variablesNone}>{t.variablesNoneNext}</Empty> : <Names ids={ids} />}</Loaded>
    </>
  )
}

function Names ({ ids }: { readonly ids: readonly string[] }) {
  const [q, setQ] = useState('')
  const [most, setMost] = useState(ROWS)
  const [opened, setOpened] = useState<string>()
  const found = ids.filter(id => id.toLowerCase().includes(q.toLowerCase()))
  const shown = found.slice(0, most)
  const details = useDetails(ids, shown)
  return (
    <>
      <Filters label={t.filterIds} value={q} onChange={value => { setQ(value); setMost(ROWS) }} count={[most, found.length]} />
      {found.length === 0
        ? <p className='quiet'>{t.nothingFits}</p>
        : (
          <Table columns={[t.name, t.value, t.usedBy]}>
            {shown.map(id => (
              <Fragment key={id}>
                <tr>
                  <td><Link href={`/environs/${encodeURIComponent(id)}`} data-row><Revealed text={id} /></Link></td>
                  <td className='limited excerpt'><Excerpt summary={details.get(id)} /></td>
                  <td className='nowrap'>
                    <Count count={details.get(id)?.users} isOpen={opened === id} id={id} onToggle={() => { setOpened(opened === id ? undefined : id) }} />
                  </td>
                </tr>
                {opened === id && <tr><td colSpan={3} className='opened'><Users kind='environs' id={id} /></td></tr>}
              </Fragment>
            ))}
          </Table>
          )}
      {found.length > most && <MoreButton onPress={() => { setMost(most + 4 * ROWS) }} />}
    </>
  )
}

type Summary = Exclude<paths['/api/environs']['get']['responses']['200']['content']['application/json'][number], string>

/** The number of variables whose values are asked for in one request. */
const BLOCK = 250

/** What the service tells of the variables that are shown; it is asked for whole blocks of the list in which at least one is shown. */
function useDetails (ids: readonly string[], shown: readonly string[]): ReadonlyMap<string, Summary> {
  const isShown = new Set(shown)
  const starts = Array.from({ length: Math.ceil(ids.length / BLOCK) }, (_, index) => index * BLOCK)
    .filter(start => ids.slice(start, start + BLOCK).some(id => isShown.has(id)))
  const blocks = useQueries({
    queries: starts.map(start => ({
      queryKey: ['registry', 'environs', 'block', ids[start - 1] ?? ''],
      queryFn: () => take(api.GET('/api/environs', { params: { query: { detail: true, users: true, limit: BLOCK, after: ids[start - 1] } } }))
    }))
  })
  return new Map(blocks.flatMap(({ data = [] }) => (data as readonly Summary[]).map(summary => [summary.id, summary] as const)))
}

function Excerpt ({ summary }: { readonly summary: Summary | undefined }) {
  if (summary === undefined) return null
  const { value } = summary
  if (value === undefined) return <span className='quiet'>{t.hasBelow}</span>
  const { type, excerpt, length } = value
  if (excerpt === HIDDEN) return <span className='quiet'>{t.secretHidden}</span>
  const isCut = excerpt.length < length
  return (
    <span className='row'>
      <span className={type === 'string' ? 'cut' : 'cut mono'} title={excerpt}>
        {excerpt === '' ? <span className='quiet'>{t.emptyText}</span> : <Revealed text={excerpt} />}
      </span>
      {isCut && <span className='quiet nowrap'>{t.cutOf(number(length))}</span>}
    </span>
  )
}

/** What the service shows in place of a secret. */
const HIDDEN = '[secret]'

function Count ({ count, id, isOpen, onToggle }: {
  readonly count: number | undefined
  readonly id: string
  readonly isOpen: boolean
  readonly onToggle: () => void
}) {
  if (count === undefined) return null
  if (count === 0) return <span className='quiet'>{t.usedByNone}</span>
  return (
    <button type='button' className='button plain small' aria-expanded={isOpen} aria-label={t.usersOf(id, count)} onClick={onToggle}>
      <span className='fold' aria-hidden='true'>›</span>
      <span className='num'>{t.usedByCount(count)}</span>
    </button>
  )
}
