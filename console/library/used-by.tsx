import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { type Page, api, take, takePage } from '../api/client.ts'
import { Loaded } from '../parts/loading.tsx'
import { t } from '../text/text.ts'

type Used = 'prompts' | 'environs' | 'tools'

/** Lists what uses an entry: an edit of the entry changes it, too. */
export function UsedBy ({ kind, id }: { readonly kind: Used, readonly id: string }) {
  return (
    <section className='panel'>
      <header><h2>{t.usedBy}</h2></header>
      <Users kind={kind} id={id} />
    </section>
  )
}

/** The prompts that use an entry and, of a prompt, the agents, skills, plans and tools that name it. */
export function Users ({ kind, id }: { readonly kind: Used, readonly id: string }) {
  const users = useUsers(kind, id)
  return (
    <Loaded query={users}>
      {({ rows, next, mentions }) => rows.length + mentions.length === 0
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
            {mentions.map(({ kind: of, id: definition }) => (
              <li key={`${of} ${definition}`} className='item'>
                {of === 'tools' ? <Link href={`/tools/${encodeURIComponent(definition)}`}><code>{definition}</code></Link> : <code>{definition}</code>}
                {' '}
                <span className='quiet'>{t.namesIt(of)}</span>
              </li>
            ))}
          </ul>
          )}
    </Loaded>
  )
}

export function useUsers (kind: Used, id: string) {
  return useQuery({ queryKey: ['registry', 'used-by', kind, id], queryFn: () => read(kind, id) })
}

type User = Page<{ readonly id: string, readonly direct: boolean, readonly through: readonly string[], readonly pins?: readonly string[] }>

async function read (kind: Used, id: string): Promise<User & { readonly mentions: ReadonlyArray<{ readonly kind: string, readonly id: string }> }> {
  const path = { path: { id } }
  const params = { params: { ...path, query: { limit: 200 } } }
  if (kind === 'tools') return { ...await takePage(api.GET('/api/tools/{id}/used-by', params)), mentions: [] }
  if (kind === 'environs') return { ...await takePage(api.GET('/api/environs/{id}/used-by', params)), mentions: [] }
  const [users, mentions] = await Promise.all([
    takePage<User['rows'][number]>(api.GET('/api/prompts/{id}/used-by', params)),
    take(api.GET('/api/prompts/{id}/mentions', { params: path }))
  ])
  return { ...users, mentions }
}
