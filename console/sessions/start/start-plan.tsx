import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import { OtherWays, quoted } from './other-ways.tsx'
import { useStart } from './use-start.ts'

/** The form of a plan: a goal, whose files it may change, and what shows the fault. */
export function StartPlan ({ profile: given }: { readonly profile: string }) {
  const workspaces = useQuery({ queryKey: ['workspaces'], queryFn: () => take(api.GET('/api/workspaces', {})) })
  const profiles = useQuery({ queryKey: ['registry', 'profiles'], queryFn: async () => await take(api.GET('/api/plans', { params: { query: { limit: 200 } } })) as readonly string[] }).data ?? []
  const [goal, setGoal] = useState('')
  const [report, setReport] = useState('')
  const [chosen, setWorkspace] = useState<string>()
  const [profile, setProfile] = useState(given)
  const { start, error, isBusy } = useStart()
  const workspace = chosen ?? workspaces.data?.[0]?.name ?? ''
  const body = { goal, workspace, mode: 'plan' as const, ...(profile === '' ? {} : { profile }), ...(report === '' ? {} : { report }) }
  const submit = () => start(async key => (await take(api.POST('/api/plans', { params: { header: { 'idempotency-key': key } as never }, body })) as { readonly id: string }).id)
  if (workspaces.data?.length === 0) return <p className='note'>{t.noWorkspaces}</p>
  return (
    <div className='split halves'>
      <form className='stack' onSubmit={event => { event.preventDefault(); void submit() }} onKeyDown={event => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void submit() }}>
        <section className='panel'>
          <header><h2>{t.startWith}</h2></header>
          <div className='body stack'>
            <div>
              <label htmlFor='goal'>{t.goal} <span className='quiet'>{t.required}</span></label>
              <textarea
                id='goal'
                className='field'
                rows={3}
                required
                value={goal}
                onChange={event => { setGoal(event.target.value) }}
              />
            </div>
            <div>
              <label htmlFor='workspace'>{t.workspace}</label>
              <select
                id='workspace'
                className='field'
                value={workspace}
                onChange={event => { setWorkspace(event.target.value) }}
              >
                {workspaces.data?.map(({ name, checks }) => <option key={name} value={name}>{name}{checks.length > 0 && ` (${checks.join(', ')})`}</option>)}
              </select>
            </div>
            <div>
              <label htmlFor='profile'>{t.profile}</label>
              <select
                id='profile'
                className='field'
                value={profile}
                onChange={event => { setProfile(event.target.value) }}
              >
                <option value=''>{t.planDefault}</option>
                {profiles.map(id => <option key={id}>{id}</option>)}
              </select>
            </div>
            <div>
              <label htmlFor='report'>{t.report}</label>
              <textarea
                id='report'
                className='field mono'
                rows={4}
                maxLength={500_000}
                spellCheck={false}
                value={report}
                onChange={event => { setReport(event.target.value) }}
              />
              <p className='hint'>{t.reportHint}</p>
            </div>
          </div>
        </section>
        {error !== undefined && <ErrorNote error={error} />}
        <div><button className='button primary' disabled={isBusy || goal.trim() === ''}>{t.makePlan}</button></div>
      </form>
      <OtherWays lines={[['aps', `npx aps plan ${quoted(`plan: ${goal}`)} --workspace ${quoted(workspace)} --url ${location.origin}`], ['curl', `curl ${location.origin}/api/plans -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`]]} />
    </div>
  )
}
