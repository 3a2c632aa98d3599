import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useState } from 'react'
import { Link, Redirect, useLocation, useSearch } from 'wouter'
import { api, take } from '../../api/client.ts'
import { type Once, useSending } from '../../api/sending.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { SelectField, TextField } from '../../parts/fields.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { useKeptText } from '../../parts/kept-text.ts'
import { PageTitle } from '../../parts/page-title.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { Definitions } from './definitions.tsx'

/** Matches the part after `#` in an address of the former page for skills: the id of a session. */
const OLD_SESSION = /^#([0-9a-f]{32})$/

/** The page that starts a session. If its address names no definition, it lists all definitions. */
export function StartPage () {
  const of = new URLSearchParams(useSearch()).get('of') ?? ''
  const old = OLD_SESSION.exec(location.hash)?.[1]
  if (old !== undefined) return <Redirect to={`/sessions/${old}`} replace />
  const [kind = '', ...rest] = of.split('/')
  const name = rest.join('/')
  const crumbs = <Link href='/sessions'>{t.sessions}</Link>
  if (kind === 'agents' && name !== '') return <><PageTitle title={name} crumbs={crumbs} /><StartAgent id={name} /></>
  if (kind === 'skills' && name !== '') return <><PageTitle title={name} crumbs={crumbs} /><StartSkill id={name} /></>
  if (kind === 'plans') {
    return (
      <>
        <PageTitle title={name === '' || name === 'default' ? t.planNew : name} crumbs={crumbs} />
        <StartPlan profile={name === 'default' ? '' : name} />
      </>
    )
  }
  return <><PageTitle title={t.startSession} crumbs={crumbs} /><Definitions only={kind === 'skills' || kind === 'agents' ? kind : undefined} /></>
}

/** The largest length of a report, in UTF-16 units. */
const MOST_REPORT = 500_000

/** The form that starts a plan: the goal, the workspace whose files the plan may change, and a report that shows the fault. */
function StartPlan ({ profile: given }: { readonly profile: string }) {
  const workspaces = useQuery({ queryKey: ['workspaces'], queryFn: () => take(api.GET('/api/workspaces', {})) })
  const profiles = useQuery({ queryKey: ['registry', 'profiles'], queryFn: listProfiles }).data ?? []
  const [goal, setGoal] = useKeptText('goal')
  const [report, setReport] = useKeptText('report')
  const [chosen, setWorkspace] = useState<string>()
  const [profile, setProfile] = useState(given)
  const workspace = chosen ?? workspaces.data?.[0]?.name ?? ''
  const body = { goal, workspace, mode: 'plan' as const, profile: profile === '' ? undefined : profile, report: report === '' ? undefined : report }
  const { start, error, isBusy } = useStart(body)
  const submit = () => start(async ({ header, signal }) => {
    const plan = await take(api.POST('/api/plans', { params: { header }, body, signal }))
    setGoal('')
    setReport('')
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

interface Tool { readonly name: string, readonly description?: string }

/**
 * The page that starts a session with an agent: what the agent does, which tools it may call, and one button, since an agent needs no input
 * to begin.
 */
function StartAgent ({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['registry', 'agent', id],
    queryFn: async () => await take(api.GET('/api/agents/{id}', { params: { path: { id } } })) as {
      readonly help?: string
      readonly tools?: readonly Tool[]
      readonly ask?: readonly string[]
      readonly budget?: Readonly<Record<string, unknown>>
    }
  })
  const { start, error, isBusy } = useStart()
  const begin = () => start(async ({ header, signal }) => {
    const session = await take(api.POST('/api/agents/{id}/sessions', { params: { path: { id }, header }, signal }))
    return (session as { readonly id: string }).id
  })
  const lines = [
    ['aps', `npx ai-prompt-shell agent ${quoted(id)} --url ${location.origin}`],
    ['curl', `curl -X POST ${location.origin}/api/agents/${encodeURIComponent(id)}/sessions`]
  ] as const
  return (
    <Loaded query={query}>
      {({ help, tools = [], ask = [], budget }) => (
        <div className='split halves'>
          <div className='stack'>
            {help !== undefined && (
              <section className='panel'>
                <header><h2>{t.help}</h2></header>
                <p className='body said pre'><Revealed text={help} /></p>
              </section>
            )}
            <MayCall tools={tools} ask={ask} />
            {budget !== undefined && <p className='quiet'>{t.budget} <code>{JSON.stringify(budget)}</code></p>}
            {error !== undefined && <ErrorNote error={error} isSent />}
            <div><button type='button' className='button primary' disabled={isBusy} onClick={() => { void begin() }}>{t.startDialogue}</button></div>
          </div>
          <OtherWays lines={lines} />
        </div>
      )}
    </Loaded>
  )
}

function MayCall ({ tools, ask }: { readonly tools: readonly Tool[], readonly ask: readonly string[] }) {
  return (
    <section className='panel'>
      <header><h2>{t.mayCall}</h2></header>
      {tools.length === 0 && <p className='body quiet'>{t.callsNothing}</p>}
      <ul>
        {tools.map(({ name, description }) => (
          <li key={name} className='item'>
            <div className='row'>
              <code className='grow wrap'>{name}</code>
              <span className={ask.includes(name) ? 'chip warn' : 'chip'}>{ask.includes(name) ? t.asks : t.unasked}</span>
            </div>
            <p className='hint wrap'>{description}</p>
          </li>
        ))}
      </ul>
    </section>
  )
}

interface Skill {
  readonly description?: string
  readonly body?: string
  readonly params?: readonly { readonly name: string, readonly description?: string, readonly required?: boolean }[]
  readonly execution?: Execution
  readonly target?: string
}

type Execution = 'manual' | 'approve' | 'auto'

/**
 * The form that starts a skill: its parameters, further words for the model, the target of its commands, and whether a person approves or
 * runs these.
 */
function StartSkill ({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['registry', 'skill', id],
    queryFn: async () => await take(api.GET('/api/skills/definitions/{id}', { params: { path: { id } } })) as Skill
  })
  return <Loaded query={query}>{skill => <SkillForm id={id} skill={skill} />}</Loaded>
}

function SkillForm ({ id, skill }: { readonly id: string, readonly skill: Skill }) {
  const wish = useSkillWish(id, skill)
  const { body, target, targets, params, prompt, setPrompt, setTarget } = wish
  const { start, error, isBusy } = useStart(body)
  const submit = () => start(async ({ header, signal }) => {
    const { data } = await take(api.POST('/api/skills/start', { params: { header }, body, signal }))
    wish.clear()
    return data.skillSessionId
  })
  const lines = [
    ['aps', `npx ai-prompt-shell skill run ${quoted(id)}${target === '' ? '' : ` --target ${quoted(target)}`} --url ${location.origin}`],
    ['curl', `curl ${location.origin}/api/skills/start -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`]
  ] as const
  const aside = (
    <>
      <OtherWays lines={lines} />
      {skill.body !== undefined && (
        <details className='panel'>
          <summary>{t.whatItTellsTheModel}</summary>
          <pre className='body text' tabIndex={0} aria-label={t.whatItTellsTheModel}><Revealed text={skill.body} /></pre>
        </details>
      )}
    </>
  )
  const above = skill.description === undefined ? undefined : <p className='said'><Revealed text={skill.description} /></p>
  return (
    <StartForm above={above} action={t.startSkill} isOff={isBusy} error={error} onStart={() => { void submit() }} aside={aside}>
      {skill.params?.map(({ name, description, required = false }) => (
        <TextField
          key={name}
          id={`p-${name}`}
          label={name}
          hint={description}
          isRequired={required}
          value={params[name] ?? ''}
          onChange={value => { wish.setParam(name, value) }}
        />
      ))}
      <TextField id='prompt' label={t.wordsMore} rows={2} value={prompt} onChange={setPrompt} />
      <SelectField id='target' label={t.runsOn} value={target} onChange={setTarget} hint={targets.length === 0 ? t.noTargets : undefined}>
        <option value=''>{t.byYourself}</option>
        {targets.map(({ name, type }) => <option key={name} value={name}>{name} ({type === 'ssh' ? 'SSH' : t.thisMachine})</option>)}
      </SelectField>
      {target !== '' && (
        <SelectField id='execution' label={t.execution} value={wish.execution} onChange={value => { wish.setExecution(value as Execution) }}>
          <option value='approve'>{t.executionApprove}</option>
          <option value='manual'>{t.byYourself}</option>
          {wish.isAuto && <option value='auto'>{t.executionAuto}</option>}
        </SelectField>
      )}
    </StartForm>
  )
}

/** Keeps the values of the form, and makes the body of the request from them. */
function useSkillWish (id: string, skill: Skill) {
  const search = new URLSearchParams(useSearch())
  const targets = useQuery({ queryKey: ['targets'], queryFn: () => take(api.GET('/api/targets', {})) }).data ?? []
  const [kept, keep] = useKeptText(`parameters of ${id}`)
  const params = JSON.parse(kept === '' ? '{}' : kept) as Readonly<Record<string, string>>
  const [prompt, setPrompt] = useKeptText(`words for ${id}`)
  const [target, setTarget] = useState(search.get('target') ?? skill.target ?? '')
  const [execution, setExecution] = useState<Execution>(skill.execution ?? 'approve')
  const given = Object.fromEntries(Object.entries(params).filter(([, value]) => value !== ''))
  const body = {
    skillId: id,
    terminalSessionId: target === '' ? 'manual' : target,
    params: given,
    prompt: prompt === '' ? undefined : prompt,
    execution: target === '' ? 'manual' as const : execution,
    autoContinue: true
  }
  const setParam = (name: string, value: string) => { keep(JSON.stringify({ ...params, [name]: value })) }
  const clear = () => {
    keep('')
    setPrompt('')
  }
  const isAuto = targets.find(({ name }) => name === target)?.auto === true
  return { targets, params, setParam, clear, prompt, setPrompt, target, setTarget, execution, setExecution, isAuto, body }
}

/** Shows the command lines that start the same session, each with a button that copies it. */
function OtherWays ({ lines }: { readonly lines: ReadonlyArray<readonly [title: string, line: string]> }) {
  return (
    <section className='panel'>
      <header><h2>{t.sameElsewhere}</h2></header>
      <ul>
        {lines.map(([title, line]) => (
          <li key={title} className='item'>
            <div className='row'><h3 className='grow'>{title}</h3><CopyButton text={line} /></div>
            <code className='wrap'>{line}</code>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** Quotes a text, if necessary, so that a shell reads it as one word. */
function quoted (text: string): string {
  return /^[\w./@:=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
}

/** Starts a session, and opens its page. @param wish what is sent */
function useStart (wish?: unknown) {
  const { error, isBusy, send } = useSending()
  const [, go] = useLocation()
  const start = (call: (once: Once) => Promise<string>) =>
    send(JSON.stringify(wish) ?? '', async once => { go(`/sessions/${await call(once)}`) })
  return { start, error, isBusy }
}

/** The form that starts a session. Ctrl+Enter sends it from any field. */
function StartForm ({ above, children, action, isOff, error, onStart, aside }: {
  readonly above?: ReactNode
  readonly children: ReactNode
  readonly action: string
  readonly isOff: boolean
  readonly error: unknown
  readonly onStart: () => void
  readonly aside: ReactNode
}) {
  const press = (event: React.KeyboardEvent) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isOff) onStart() }
  return (
    <div className='split halves'>
      <form className='stack' onSubmit={event => { event.preventDefault(); onStart() }} onKeyDown={press}>
        {above}
        <section className='panel'>
          <header><h2>{t.startWith}</h2></header>
          <div className='body stack'>{children}</div>
        </section>
        {error !== undefined && <ErrorNote error={error} isSent />}
        <div><button className='button primary' disabled={isOff}>{action}</button></div>
      </form>
      <div className='stack'>{aside}</div>
    </div>
  )
}
