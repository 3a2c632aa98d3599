import { useQuery } from '@tanstack/react-query'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'

/** Where commands may run and whose files may change, of what the operator offers to this token. */
export function TargetsPage () {
  const targets = useQuery({ queryKey: ['targets'], queryFn: () => take(api.GET('/api/targets', {})) })
  const workspaces = useQuery({ queryKey: ['workspaces'], queryFn: () => take(api.GET('/api/workspaces', {})) })
  return (
    <>
      <PageTitle title={t.targets} note={t.targetsNote} />
      <div className='stack'>
        <Loaded query={targets}>
          {rows => rows.length === 0
            ? <Empty title={t.targetsNone}>{t.noTargets}</Empty>
            : (
              <div className='panel'>
                <table>
                  <thead><tr><th scope='col'>{t.target}</th><th scope='col'>{t.type}</th><th scope='col' className='wide'>{t.sandbox}</th><th scope='col' className='wide'>{t.network}</th><th scope='col'>{t.commands}</th><th scope='col' className='wide'>{t.workspace}</th></tr></thead>
                  <tbody>{rows.map(({ name, type, sandbox, network, auto, workspace, host, port, user }) => <tr key={name}><td className='mono'>{name}</td><td>{type === 'ssh' ? <>SSH {host !== undefined && <code>{`${user === undefined ? '' : `${user}@`}${host}:${port ?? 22}`}</code>}</> : t.thisMachine}</td><td className='wide quiet'>{type === 'ssh' ? t.sandboxNone : t.sandboxOf(sandbox ?? '')}</td><td className='wide quiet'>{network === false ? t.networkClosed : t.networkOpen}</td><td><span className={auto ? 'chip' : 'chip warn'}>{auto ? t.unaskedByRule : t.asks}</span></td><td className='wide mono'>{workspace}</td></tr>)}</tbody>
                </table>
              </div>
              )}
        </Loaded>
        <Loaded query={workspaces}>
          {rows => rows.length === 0
            ? null
            : (
              <div className='panel'>
                <table>
                  <thead><tr><th scope='col'>{t.workspace}</th><th scope='col'>{t.checks}</th><th scope='col'>{t.logs}</th></tr></thead>
                  <tbody>{rows.map(({ name, checks, logs }) => <tr key={name}><td className='mono'>{name}</td><td className='mono'>{checks.join(', ')}</td><td className='mono'>{logs.join(', ')}</td></tr>)}</tbody>
                </table>
              </div>
              )}
        </Loaded>
      </div>
    </>
  )
}
