import { useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { number, shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { CancelButton } from './cancel-button.tsx'
import { ChatTab } from './chat-tab.tsx'
import { PlanTab } from './plan/plan-tab.tsx'
import { SkillTab } from './skill/skill-tab.tsx'
import { TimelineTab } from './timeline-tab.tsx'
import { useSession } from './use-session.ts'
import { hasEnded, partsOf, stateOf } from './words.ts'

/** One session, of whatever kind. */
export function SessionPage ({ id }: { readonly id: string }) {
  const followed = useSession(id)
  const [path, go] = useLocation()
  const tab = new URLSearchParams(useSearch()).get('tab') ?? 'talk'
  const [error, setError] = useState<unknown>()
  const { query: { data: session, error: failure, refetch }, isConnected, heardAt, events } = followed
  if (session === undefined) return <><PageTitle title={t.session} crumbs={<Link href='/sessions'>{t.sessions}</Link>} />{failure === null ? <p className='quiet loading' role='status'>{t.loading}</p> : <ErrorNote error={failure} onRetry={() => { void refetch() }} />}</>
  const { kind, name } = partsOf(session.definition)
  const { words, tone } = stateOf(session.status, session.word)
  const step = events.findLast(({ event }) => event === 'step')?.data
  const fork = async () => {
    try {
      setError(undefined)
      go(`/sessions/${(await take(api.POST('/api/sessions/{id}/fork', { params: { path: { id } } }))).id}`)
    } catch (refused) {
      setError(refused)
    }
  }
  const own = kind === 'agents' ? t.tabChat : kind === 'skills' ? t.tabSteps : t.tabChange
  const tabs = [['talk', own], ['timeline', t.tabTimeline], ...(kind === 'plans' ? [['trace', t.tabTrace] as const] : [])] as ReadonlyArray<readonly [string, string]>
  return (
    <>
      <PageTitle title={name} crumbs={<><Link href='/sessions'>{t.sessions}</Link> / <Link href={`/sessions?kind=${kind}`}>{t.kindsOf(kind)}</Link></>} note={<><span className={`chip ${tone}`} role='status'>{words}</span><span className='quiet num'>{step !== undefined && `${t.stepOf(String(step['step']), String(step['max']))} · `}{t.usedOf(number(session.used.steps), number(session.used.tokens))}{session.owner !== '' && ` · ${t.ownedBy(session.owner)}`}</span>{session.forkOf !== undefined && <Link href={`/sessions/${session.forkOf.session}`}>{t.forkOf}</Link>}</>}>
        {session.status !== 'running' && <button type='button' className='button' onClick={() => { void fork() }}>{t.goOnFromHere}</button>}
        {!hasEnded(session.status) && <CancelButton id={id} kind={kind} />}
      </PageTitle>
      {error !== undefined && <ErrorNote error={error} />}
      {!isConnected && <p className='note warn' role='status'>{t.lastHeard(shortTime(heardAt))}</p>}
      <Tabs label={t.partsOfSession} tabs={tabs.map(([tabName, text]) => ({ href: tabName === 'trace' ? `/traces/${traceId(id)}` : tabName === 'talk' ? path : `${path}?tab=${tabName}`, name: text, isHere: tab === tabName }))} />
      {tab === 'timeline' ? <TimelineTab id={id} count={events.length} /> : kind === 'agents' ? <ChatTab session={session} followed={followed} /> : kind === 'skills' ? <SkillTab session={session} followed={followed} /> : <PlanTab session={session} followed={followed} />}
    </>
  )
}

/** A trace is called as its session, written as a UUID. */
function traceId (id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
