import { useQuery } from '@tanstack/react-query'
import { type ReactNode } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { Loaded } from '../parts/loading.tsx'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Session } from './follow/use-session.ts'
import { partsOf } from './words.ts'

/** The tab with all that a session has used: its definition, models, tools, targets and workspaces. */
export function UsesTab ({ session: { id, seq } }: { readonly session: Session }) {
  const query = useQuery({
    queryKey: ['session', id, 'uses', seq],
    queryFn: () => take(api.GET('/api/sessions/{id}/uses', { params: { path: { id } } })),
    placeholderData: before => before
  })
  return (
    <Loaded query={query}>
      {({ definition, revision, current, uses }) => (
        <div className='split halves'>
          <section className='panel'>
            <header><h2>{t.used}</h2></header>
            {uses.length === 0 ? <p className='body quiet'>{t.usedNothing}</p> : <UsesTable uses={uses} />}
          </section>
          <section className='panel'>
            <header><h2>{t.definition}</h2><span className='grow' /><Freshness revision={revision} current={current} /></header>
            <div className='body'>
              <dl className='facts'>
                <dt>{t.definition}</dt>
                <dd className='wrap'>{current === undefined ? definition : <Link href={`/sessions/new?of=${definition}`}>{definition}</Link>}</dd>
                <dt>{t.beganWith}</dt><dd className='mono wrap'>{revision}</dd>
                {current !== undefined && current !== revision && <><dt>{t.isNow}</dt><dd className='mono wrap'>{current}</dd></>}
              </dl>
              <p className='hint after'><Link href={`/sessions?kind=${partsOf(definition).kind}&of=${encodeURIComponent(definition)}`}>{t.othersOfIt}</Link></p>
            </div>
          </section>
        </div>
      )}
    </Loaded>
  )
}

function Freshness ({ revision, current }: { readonly revision: string, readonly current: string | undefined }) {
  if (current === revision) return <span className='chip good'>{t.isSame}</span>
  return <span className='chip warn'>{current === undefined ? t.notRegistered : t.hasChanged}</span>
}

interface Use { readonly kind: string, readonly name: string, readonly calls: number, readonly failures: number, readonly tokens: number }

function UsesTable ({ uses }: { readonly uses: readonly Use[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope='col'>{t.what}</th>
          <th scope='col' className='right'>{t.calls}</th>
          <th scope='col' className='right'>{t.failedOf}</th>
          <th scope='col' className='right wide'>{t.tokens}</th>
        </tr>
      </thead>
      <tbody>
        {uses.map(({ kind, name, calls, failures, tokens }) => (
          <tr key={`${kind} ${name}`}>
            <td className='wrap'><UsedName kind={kind} name={name} /> <span className='quiet'>{t.useKind(kind)}</span></td>
            <td className='right num'>{number(calls)}</td>
            <td className='right num'>{failures > 0 ? <b className='alarm'>{number(failures)}</b> : 0}</td>
            <td className='right num wide'>{tokens > 0 && number(tokens)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  )
}

/**
 * Shows the name of a used thing as a link to its screen. The screen of a tool is only for callers who may read the registry; all targets
 * and workspaces are on one screen.
 */
function UsedName ({ kind, name }: Pick<Use, 'kind' | 'name'>): ReactNode {
  const mayRead = useMay('read')
  const words = <code>{name}</code>
  if (kind === 'tool') return mayRead ? <Link href={`/tools/${encodeURIComponent(name)}`}>{words}</Link> : words
  return kind === 'llm' || kind === 'check' ? words : <Link href='/targets'>{words}</Link>
}
