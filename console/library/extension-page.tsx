import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { Editor } from '../edit/editor.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'

/** The page of one extension: its definition, and the prompts that it brings. */
export function ExtensionPage ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['registry', 'extension', id], queryFn: () => take(api.GET('/api/extensions/{id}', { params: { path: { id } } })) })
  return (
    <>
      <PageTitle title={id} mono crumbs={<Link href='/extensions'>{t.extensions}</Link>} />
      <Loaded query={query}>
        {reply => {
          const { id: _, diagnostics, ...definition } = reply as typeof reply & {
            readonly name?: string
            readonly state: string
            readonly contributes?: { readonly [kind: string]: unknown }
          }
          const given = definition.contributes?.['prompts']
          const prompts = Array.isArray(given) ? given as ReadonlyArray<{ readonly name?: unknown }> : []
          return (
            <div className='split halves'>
              <section className='panel'>
                <header><h2>{t.definition}</h2></header>
                <Editor value={JSON.stringify(definition, null, 2)} language='json' label={t.definition} />
              </section>
              <section className='panel'>
                <header>
                  <h2>{t.prompts}</h2>
                  <span className='grow' />
                  <span className={definition.state === 'active' ? 'chip good' : 'chip bad'}>{definition.state}</span>
                </header>
                <ul>
                  {prompts.map(({ name }) => (
                    <li key={String(name)} className='item'>
                      <Link href={`/prompts/${encodeURIComponent(`${definition.name ?? id}.${String(name)}`)}`}>
                        <code>{`${definition.name ?? id}.${String(name)}`}</code>
                      </Link>
                    </li>
                  ))}
                </ul>
              </section>
            </div>
          )
        }}
      </Loaded>
    </>
  )
}
