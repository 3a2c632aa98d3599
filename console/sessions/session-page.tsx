import { type ReactNode, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { number, shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { CancelButton } from './cancel-button.tsx'
import { TreeTab } from './children/tree-tab.tsx'
import { ChatTab } from './chat-tab.tsx'
import { type Followed, type Session, useSession } from './follow/use-session.ts'
import { PlanTab } from './plan/plan-tab.tsx'
import { SkillTab } from './skill/skill-tab.tsx'
import { TimelineTab } from './timeline-tab.tsx'
import { UsesTab } from './uses-tab.tsx'
import { hasEnded, partsOf, stateOf } from './words.ts'

/** The page of one session, for an agent, a skill or a plan. */
export function SessionPage ({ id }: { readonly id: string }) {
  const followed = useSession(id)
  const { query: { data: session, error, refetch }, isConnected, heardAt } = followed
  if (session === undefined) {
    return (
      <>
        <PageTitle title={t.session} crumbs={<Link href='/sessions'>{t.sessions}</Link>} />
        {error === null ? <p className='quiet loading' role='status'>{t.loading}</p> : <ErrorNote error={error} onRetry={() => { void refetch() }} />}
      </>
    )
  }
  return (
    <>
      <Head session={session} followed={followed} />
      {!isConnected && <p className='note warn' role='status'>{t.lastHeard(shortTime(heardAt))}</p>}
      <Parts session={session} followed={followed} />
    </>
  )
}

interface Shown { readonly session: Session, readonly followed: Followed }

function Head ({ session, followed: { events } }: Shown) {
  const { id, definition, status, word, used, owner, forkOf, parent } = session
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status, word)
  const step = events.findLast(({ event }) => event === 'step')?.data
  const facts = [
    step === undefined ? '' : t.stepOf(String(step['step']), String(step['max'])),
    t.usedOf(number(used.steps), number(used.tokens)),
    owner === '' ? '' : t.ownedBy(owner)
  ]
  const note = (
    <>
      <span className={`chip ${tone}`} role='status'>{words}</span>
      <span className='quiet num'>{facts.filter(fact => fact !== '').join(' · ')}</span>
      {parent !== undefined && <Link href={`/sessions/${parent}`}>{t.startedBy}</Link>}
      {forkOf !== undefined && <Link href={`/sessions/${forkOf.session}`}>{t.forkOf}</Link>}
    </>
  )
  return (
    <PageTitle
      title={name}
      crumbs={<><Link href='/sessions'>{t.sessions}</Link> / <Link href={`/sessions?kind=${kind}`}>{t.kindsOf(kind)}</Link></>}
      note={note}
    >
      {status !== 'running' && parent === undefined && <ForkButton id={id} />}
      {!hasEnded(status) && kind !== 'skills' && <CancelButton id={id} kind={kind} />}
    </PageTitle>
  )
}

function ForkButton ({ id }: { readonly id: string }) {
  const [, go] = useLocation()
  const [error, setError] = useState<unknown>()
  const fork = async () => {
    try {
      setError(undefined)
      go(`/sessions/${(await take(api.POST('/api/sessions/{id}/fork', { params: { path: { id } } }))).id}`)
    } catch (refused) {
      setError(refused)
    }
  }
  return (
    <>
      {error !== undefined && <ErrorNote error={error} />}
      <button type='button' className='button' onClick={() => { void fork() }}>{t.goOnFromHere}</button>
    </>
  )
}

function Parts ({ session, followed }: Shown) {
  const [path] = useLocation()
  const tab = new URLSearchParams(useSearch()).get('tab') ?? 'talk'
  const { kind } = partsOf(session.definition)
  const at = (name: string) => ({ href: `${path}?tab=${name}`, isHere: tab === name })
  const tabs = [
    { href: path, isHere: tab === 'talk', name: kind === 'agents' ? t.tabChat : kind === 'skills' ? t.tabSteps : t.tabChange },
    { ...at('timeline'), name: t.tabTimeline },
    { ...at('uses'), name: t.tabUses },
    ...kind === 'agents' || session.parent !== undefined ? [{ ...at('tree'), name: t.tabTree }] : [],
    ...kind === 'plans' ? [{ href: `/traces/${traceId(session.id)}`, isHere: false, name: t.tabTrace }] : []
  ]
  return <><Tabs label={t.partsOfSession} tabs={tabs} />{partOf(tab, kind, { session, followed })}</>
}

function partOf (tab: string, kind: string, shown: Shown): ReactNode {
  const { session, followed } = shown
  if (tab === 'timeline') return <TimelineTab id={session.id} count={followed.events.length} />
  if (tab === 'tree') return <TreeTab session={session} />
  if (tab === 'uses') return <UsesTab session={session} />
  return kind === 'agents' ? <ChatTab {...shown} /> : kind === 'skills' ? <SkillTab {...shown} /> : <PlanTab {...shown} />
}

/** The id of the trace of a session: the session's id, written as a UUID. */
function traceId (id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
