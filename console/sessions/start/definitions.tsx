import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, takePage } from '../../api/client.ts'
import { words } from '../../api/listings.ts'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'

interface Definition { readonly id: string, readonly description?: unknown }

/** Lists the agents, skills and plans with which a session can be started, each as a link to a form. */
export function Definitions ({ only }: { readonly only?: string | undefined }) {
  const query = useQuery({ queryKey: ['registry', 'definitions'], queryFn: readAll })
  return (
    <Loaded query={query}>
      {({ agents, skills, plans }) => (
        <div className='thirds'>
          {(only ?? 'agents') === 'agents' && <Kind kind='agents' title={t.agents} rows={agents} none={t.agentsNone} />}
          {(only ?? 'skills') === 'skills' && <Kind kind='skills' title={t.skills} rows={skills} none={t.skillsNone} />}
          {only === undefined && <Kind kind='plans' title={t.plans} rows={[{ id: '', description: t.planDefault }, ...plans]} none='' />}
        </div>
      )}
    </Loaded>
  )
}

function Kind ({ kind, title, rows, none }: { readonly kind: string, readonly title: string, readonly rows: readonly Definition[], readonly none: string }) {
  return (
    <section className='panel'>
      <header><h2>{title}</h2></header>
      {rows.length === 0 && <p className='body quiet'>{none}</p>}
      <ul>
        {rows.map(({ id, description }) => (
          <li key={id} className='item'>
            <Link href={`/sessions/new?of=${kind}/${encodeURIComponent(id)}`} data-row>{id === '' ? t.planNew : id}</Link>
            <p className='hint wrap'><Revealed text={words(description)} /></p>
          </li>
        ))}
      </ul>
    </section>
  )
}

async function readAll () {
  const query = { params: { query: { detail: true, limit: 200 } } }
  const [agents, skills, plans] = await Promise.all([
    takePage<Definition>(api.GET('/api/agents', query)),
    takePage<Definition>(api.GET('/api/skills', query)),
    takePage<Definition>(api.GET('/api/plans', query))
  ])
  return { agents: agents.rows, skills: skills.rows, plans: plans.rows }
}
