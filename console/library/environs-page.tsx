import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link, useLocation } from 'wouter'
import { useMay } from '../api/caller.ts'
import { listEnvirons } from '../api/listings.ts'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'

const ROWS = 100

/** The shared variables, by their names. */
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
      <div className='filters'>
        <div className='filter'>
          <input
            className='field'
            placeholder={t.filterIds}
            aria-label={t.filterIds}
            value={q}
            onChange={event => { setQ(event.target.value); setMost(ROWS) }}
          />
        </div>
        <span className='grow' />
        <span className='quiet num' role='status'>{t.rowsOf(Math.min(most, found.length), number(found.length))}</span>
      </div>
      {found.length === 0
        ? <p className='quiet'>{t.nothingFits}</p>
        : (
          <div className='panel'>
            <table>
              <thead><tr><th scope='col'>{t.name}</th><th scope='col' className='wide'>{t.key}</th></tr></thead>
              <tbody>{found.slice(0, most).map(id => <tr key={id}><td><Link href={`/environs/${encodeURIComponent(id)}`} data-row><Revealed text={id} /></Link></td><td className='wide quiet mono'>shenma:environs:{id.replaceAll('.', ':')}</td></tr>)}</tbody>
            </table>
          </div>
          )}
      {found.length > most && <p className='after'><button type='button' className='button' onClick={() => { setMost(most + 4 * ROWS) }}>{t.showMore}</button></p>}
    </>
  )
}
