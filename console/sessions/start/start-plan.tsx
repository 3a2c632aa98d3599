import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { t } from '../../text/text.ts'
import { OtherWays, quoted } from './other-ways.tsx'
import { StartForm } from './start-form.tsx'
import { useStart } from './use-start.ts'

/** The largest length of a report, in UTF-16 units. */
const MOST_REPORT = 500_000

/** The form that starts a plan: the goal, the workspace whose files the plan may change, and a report that shows the fault. */
export function StartPlan ({ profile: given }: { readonly profile: string }) {
  const workspaces = useQuery({ queryKey: ['workspaces'], queryFn: () => take(api.GET('/api/workspaces', {})) })
  const profiles = useQuery({ queryKey: ['registry', 'profiles'], queryFn: listProfiles }).data ?? []
  const [goal, setGoal] = useState('')
  const [report, setReport] = useState('')
  const [chosen, setWorkspace] = useState<string>()
  const [profile, setProfile] = useState(given)
  const { start, error, isBusy } = useStart()
  const workspace = chosen ?? workspaces.data?.[0]?.name ?? ''
  const body = { goal, workspace, mode: 'plan' as const, ...(profile === '' ? {} : { profile }), ...(report === '' ? {} : { report }) }
  const submit = () => start(async key => {
    const plan = await take(api.POST('/api/plans', { params: { header: { 'idempotency-key': key } as never }, body }))
    return (plan as { readonly id: string }).id
  })
  if (workspaces.data?.length === 0) return <p className='note'>{t.noWorkspaces}</p>
  const lines = [
    ['aps', `npx ai-prompt-shell plan ${quoted(`plan: ${goal}`)} --workspace ${quoted(workspace)} --url ${location.origin}`],
    ['curl', `curl ${location.origin}/api/plans -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`]
  ] as const
  return (
    <StartForm action={t.makePlan} isOff={isBusy || goal.trim() === ''} error={error} onStart={() => { void submit() }} aside={<OtherWays lines={lines} />}>
      <TextField id='goal' label={t.goal} isRequired rows={3} value={goal} onChange={setGoal} />
      <SelectField id='workspace' label={t.workspace} value={workspace} onChange={setWorkspace}>
        {workspaces.data?.map(({ name, checks }) => <option key={name} value={name}>{name}{checks.length > 0 && ` (${checks.join(', ')})`}</option>)}
      </SelectField>
      <SelectField id='profile' label={t.profile} value={profile} onChange={setProfile}>
        <option value=''>{t.planDefault}</option>
        {profiles.map(id => <option key={id}>{id}</option>)}
      </SelectField>
      <TextField id='report' label={t.report} hint={t.reportHint} isMono rows={4} most={MOST_REPORT} value={report} onChange={setReport} />
    </StartForm>
  )
}

async function listProfiles (): Promise<readonly string[]> {
  return await take(api.GET('/api/plans', { params: { query: { limit: 200 } } })) as readonly string[]
}
