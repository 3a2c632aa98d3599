import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { stateOf } from './words.ts'

/** The page with the traces of plans, the newest first. */
export function TracesPage () {
  const query = useQuery({ queryKey: ['traces'], queryFn: () => take(api.GET('/api/traces', { params: { query: { limit: 200 } } })), staleTime: 0 })
  return (
    <>
      <PageTitle title={t.traces} note={t.tracesNote} />
      <Loaded query={query}>
        {({ traces }) => traces.length === 0
          ? <Empty title={t.tracesNone}>{t.tracesNoneNext}</Empty>
          : (
            <Table columns={[t.trace, [t.definition, 'wide'], t.state, t.began]}>
              {traces.map(({ trace_id: id, session: { definition, status, createdAt } }) => {
                const { words, tone } = stateOf(status)
                return (
                  <tr key={id}>
                    <td><Link href={`/traces/${id}`} className='mono' data-row>{id.slice(0, 8)}</Link></td>
                    <td className='wide quiet'>{definition}</td>
                    <td><span className={`chip ${tone}`}>{words}</span></td>
                    <td className='quiet'><When at={createdAt} /></td>
                  </tr>
                )
              })}
            </Table>
            )}
      </Loaded>
    </>
  )
}
