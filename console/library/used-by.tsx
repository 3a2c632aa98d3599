import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type Page, api, takePage } from '../api/client.ts'
import { Loaded } from '../parts/loading.tsx'
import { t } from '../text/text.ts'

/** Lists the prompts that use an entry. An edit of the entry changes them, too. */
export function UsedBy ({ kind, id }: { readonly kind: Used, readonly id: string }) {
  const users = useUsers(kind, id)
  return (
    <section className='panel'>
      <header><h2>{t.usedBy}</h2></header>
      <Loaded query={users}>
        {({ rows, next }) => rows.length === 0
          ? <p className='body quiet'>{t.usedByNothing}</p>
          : (
            <ul>
              {rows.map(({ id: user, direct, through }) => (
                <li key={user} className='item'>
                  <Link href={`/prompts/${encodeURIComponent(user)}`}><code>{user}</code></Link>
                  {' '}
                  <span className='quiet'>{direct ? t.direct : t.through(through.join(', '))}</span>
                </li>
              ))}
              {next !== undefined && <li className='item quiet'>{t.andMore}</li>}
            </ul>
            )}
      </Loaded>
    </section>
  )
}

export function useUsers (kind: Used, id: string) {
  return useQuery({ queryKey: ['registry', 'used-by', kind, id], queryFn: () => read(kind, id) })
}

type Used = 'prompts' | 'environs' | 'tools'

async function read (kind: Used, id: string): Promise<Page<{ id: string, direct: boolean, through: readonly string[], pins?: readonly string[] }>> {
  const params = { params: { path: { id }, query: { limit: 200 } } }
  if (kind === 'prompts') return await takePage(api.GET('/api/prompts/{id}/used-by', params))
  if (kind === 'tools') return await takePage(api.GET('/api/tools/{id}/used-by', params))
  return await takePage(api.GET('/api/environs/{id}/used-by', params))
}
