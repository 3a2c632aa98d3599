import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Link } from 'wouter'
import { listTools, type ToolRow } from '../api/listings.ts'
import { Empty } from '../parts/empty.tsx'
import { Filters } from '../parts/filters.tsx'
import { Loaded } from '../parts/loading.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Table } from '../parts/table.tsx'
import { t } from '../text/text.ts'

const ROWS = 100

/** The page with all tools that templates may call. */
export function ToolsPage () {
  const query = useQuery({ queryKey: ['registry', 'tools'], queryFn: listTools })
  return (
    <>
      <PageTitle title={t.tools} note={t.toolsNote} />
      <Loaded query={query}>
        {tools => tools.length === 0
          ? <Empty title={t.toolsNone}>{t.toolsNoneNext} <code>redis-cli -x SET shenma:tools:crm:ticket &lt; ticket.json</code></Empty>
          : <ToolTable tools={tools} />}
      </Loaded>
    </>
  )
}

function ToolTable ({ tools }: { readonly tools: readonly ToolRow[] }) {
  const [q, setQ] = useState('')
  const [most, setMost] = useState(ROWS)
  const found = tools.filter(({ id, description }) => `${id}\n${description}`.toLowerCase().includes(q.toLowerCase()))
  return (
    <>
      <Filters label={t.filterIds} value={q} onChange={setQ} count={[most, found.length]} />
      <Table columns={[t.tool, [t.description, 'wide'], [t.function, 'wide'], t.type]}>
        {found.slice(0, most).map(({ id, description, function: name, type }) => (
          <tr key={id}>
            <td><Link href={`/tools/${encodeURIComponent(id)}`} data-row><Revealed text={id} /></Link></td>
            <td className='wide quiet cut limited'><Revealed text={description} /></td>
            <td className='wide quiet mono'>{name}</td>
            <td className='quiet'>{type}</td>
          </tr>
        ))}
      </Table>
      {found.length > most && <MoreButton onPress={() => { setMost(most + 4 * ROWS) }} />}
    </>
  )
}
