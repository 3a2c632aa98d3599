import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useMay } from '../api/caller.ts'
import { listEnvirons } from '../api/listings.ts'
import { Empty } from '../parts/empty.tsx'
import { Filters } from '../parts/filters.tsx'
import { Loaded } from '../parts/loading.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Table } from '../parts/table.tsx'
import { t } from '../text/text.ts'

const ROWS = 100

/** The page with the names of all shared variables. */
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
  const found = ids.filter(id => id.toLowerCase().includes(q.toLowerCase()))
  return (
    <>
      <Filters label={t.filterIds} value={q} onChange={value => { setQ(value); setMost(ROWS) }} count={[most, found.length]} />
      {found.length === 0
        ? <p className='quiet'>{t.nothingFits}</p>
        : (
          <Table columns={[t.name, [t.key, 'wide']]}>
            {found.slice(0, most).map(id => (
              <tr key={id}>
                <td><Link href={`/environs/${encodeURIComponent(id)}`} data-row><Revealed text={id} /></Link></td>
                <td className='wide quiet mono'>shenma:environs:{id.replaceAll('.', ':')}</td>
              </tr>
            ))}
          </Table>
          )}
      {found.length > most && <MoreButton onPress={() => { setMost(most + 4 * ROWS) }} />}
    </>
  )
}
