import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { listTools } from '../api/listings.ts'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'

/** The tools that templates may call. */
export function ToolsPage () {
  const query = useQuery({ queryKey: ['registry', 'tools'], queryFn: listTools })
  const [q, setQ] = useState('')
  return (
    <>
      <PageTitle title={t.tools} note={t.toolsNote} />
      <Loaded query={query}>
        {tools => tools.length === 0
          ? <Empty title={t.toolsNone}>{t.toolsNoneNext} <code>redis-cli -x SET shenma:tools:crm:ticket &lt; ticket.json</code></Empty>
          : (
            <>
              <div className='filters'>
                <div className='filter'>
                  <input
                    className='field'
                    placeholder={t.filterIds}
                    aria-label={t.filterIds}
                    value={q}
                    onChange={event => { setQ(event.target.value) }}
                  />
                </div>
              </div>
              <div className='panel'>
                <table>
                  <thead><tr><th scope='col'>{t.tool}</th><th scope='col' className='wide'>{t.description}</th><th scope='col' className='wide'>{t.function}</th><th scope='col'>{t.type}</th></tr></thead>
                  <tbody>
                    {tools.filter(({ id, description }) => `${id}\n${description}`.toLowerCase().includes(q.toLowerCase())).slice(0, 500).map(({ id, description, function: name, type }) => (
                      <tr key={id}><td><Link href={`/tools/${encodeURIComponent(id)}`} data-row><Revealed text={id} /></Link></td><td className='wide quiet cut limited'><Revealed text={description} /></td><td className='wide quiet mono'>{name}</td><td className='quiet'>{type}</td></tr>
                    ))}
                  </tbody>
                </table>
              </div>
            </>
            )}
      </Loaded>
    </>
  )
}
