import { useQuery } from '@tanstack/react-query'
import type { paths } from '../../.build/api.d.ts'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Table } from '../parts/table.tsx'
import { jailOf } from '../approvals/approval.ts'
import { OpenButton, OpenTerminals } from '../terminals/open-terminals.tsx'
import { t } from '../text/text.ts'

/**
 * The page with the targets on which commands may run, and the workspaces whose files may change, as far as the operator offers them to the
 * caller.
 */
export function TargetsPage () {
  const hasTerminals = useMay('terminal')
  const targets = useQuery({ queryKey: ['targets'], queryFn: () => take(api.GET('/api/targets', {})) })
  const workspaces = useQuery({ queryKey: ['workspaces'], queryFn: () => take(api.GET('/api/workspaces', {})) })
  return (
    <>
      <PageTitle title={t.targets} note={t.targetsNote} />
      <div className='stack'>
        {hasTerminals && <OpenTerminals />}
        <Loaded query={targets}>
          {rows => rows.length === 0
            ? <Empty title={t.targetsNone}>{t.noTargets}</Empty>
            : (
              <Table columns={[
                t.target,
                t.type,
                [t.sandbox, 'wide'],
                t.commands,
                [t.workspace, 'wide'],
                ...hasTerminals ? [['', 'right'] as const] : []
              ]}
              >
                {rows.map(target => <TargetRow key={target.name} target={target} hasTerminals={hasTerminals} />)}
              </Table>
              )}
        </Loaded>
        <Loaded query={workspaces}>
          {rows => rows.length > 0 && (
            <Table columns={[t.workspace, t.checks, t.logs]}>
              {rows.map(({ name, checks, logs }) => (
                <tr key={name}>
                  <td className='mono'>{name}</td>
                  <td className='mono wrap'>{checks.join(', ')}</td>
                  <td className='mono wrap'>{logs.join(', ')}</td>
                </tr>
              ))}
            </Table>
          )}
        </Loaded>
      </div>
    </>
  )
}

function TargetRow ({ target, hasTerminals }: {
  readonly target: paths['/api/targets']['get']['responses']['200']['content']['application/json'][number]
  readonly hasTerminals: boolean
}) {
  const { name, type, sandbox, network, auto, workspace, host, port, user, terminal } = target
  const login = host === undefined ? undefined : `${user === undefined ? '' : `${user}@`}${host}:${port ?? 22}`
  return (
    <tr>
      <td className='mono'>{name}</td>
      <td>{type === 'ssh' ? <>SSH {login !== undefined && <code>{login}</code>}</> : t.thisMachine}</td>
      <td className='wide quiet'>{jailOf({ isHere: type !== 'ssh', sandbox, network })}</td>
      <td><span className={auto ? 'chip' : 'chip warn'}>{auto ? t.unaskedByRule : t.asks}</span></td>
      <td className='wide mono'>{workspace}</td>
      {hasTerminals && <td className='right'>{terminal && <OpenButton target={name} />}</td>}
    </tr>
  )
}
