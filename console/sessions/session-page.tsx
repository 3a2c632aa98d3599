import { useQuery } from '@tanstack/react-query'
import { lazy, type ReactNode, Suspense, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import type { paths } from '../../.build/api.d.ts'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { ApprovalQueue } from '../approvals/approval-queue.tsx'
import { costWords } from '../parts/cost.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Tabs } from '../parts/tabs.tsx'
import { number, shortTime } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { CancelButton } from './cancel-button.tsx'
import { ChatTab } from './chat-tab.tsx'
import { type Tree, useTree } from './children/tree.ts'
import { type Followed, type Session, useSession } from './follow/use-session.ts'
import { PlanTab } from './plan/plan-tab.tsx'
import { SessionFacts } from './session-facts.tsx'
import { useSkill, Wanted } from './skill/wanted.tsx'
import { Talk } from './talk.tsx'
import { hasEnded, partsOf, stateOf } from './words.ts'

const Timeline = lazy(async () => ({ default: (await import('./timeline.tsx')).Timeline }))
const RetryButton = lazy(async () => ({ default: (await import('./retry-button.tsx')).RetryButton }))

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
      <Why session={session} />
      {!isConnected && <p className='note warn' role='status'>{t.lastHeard(shortTime(heardAt))}</p>}
      <Parts session={session} followed={followed} />
    </>
  )
}

interface Shown { readonly session: Session, readonly followed: Followed }

function Head ({ session, followed: { events } }: Shown) {
  const { id, definition, status, word, title, used, owner, forkOf, parent } = session
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status, word)
  const step = events.findLast(({ event }) => event === 'step')?.data
  const facts = [
    step === undefined ? '' : t.stepOf(String(step['step']), String(step['max'])),
    t.usedOf(number(used.steps), number(used.tokens)),
    used.costUsd === undefined && used.unpricedCalls === undefined ? '' : costWords(used),
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
      title={title ?? name}
      crumbs={(
        <>
          <Link href='/sessions'>{t.sessions}</Link> / <Link href={`/sessions?kind=${kind}`}>{t.kindsOf(kind)}</Link>
          {title !== undefined && <> / <Link href={`/sessions?of=${encodeURIComponent(definition)}`}>{name}</Link></>}
        </>
      )}
      note={note}
    >
      {status !== 'running' && parent === undefined && kind !== 'releases' && <ForkButton id={id} />}
      {!hasEnded(status) && kind !== 'skills' && <CancelButton id={id} kind={kind} />}
    </PageTitle>
  )
}

/** Why a session has not completed; for one that failed, with the way to try it again. */
function Why ({ session: { id, definition, status, problem, parent } }: { readonly session: Session }) {
  if (problem === undefined) return null
  const { code, message } = problem
  const why = message === '' ? code : message
  if (status === 'cancelled') return <p className='note'>{t.whyCancelled(why)}</p>
  return (
    <div className={`note ${status === 'failed' ? 'bad' : 'warn'}`} role='status'>
      <span className='grow wrap'>
        <Revealed text={status === 'failed' ? t.whyFailed(why) : t.whyExpired(why)} />{message !== '' && <> <code>{code}</code></>}
      </span>
      {parent !== undefined && <Link href={`/sessions/${parent}`}>{t.retryParent}</Link>}
      {parent === undefined && !definition.startsWith('releases/') && <Suspense><RetryButton id={id} definition={definition} /></Suspense>}
    </div>
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
  const { kind } = partsOf(session.definition)
  const tab = new URLSearchParams(useSearch()).get('tab') ?? 'talk'
  const at = (name: string) => ({ href: `${path}?tab=${name}`, isHere: tab === name })
  const tabs = [
    { href: path, isHere: tab === 'talk', name: kind === 'agents' ? t.tabChat : kind === 'plans' ? t.tabChange : t.tabSteps },
    { ...at('timeline'), name: t.tabTimeline },
    { ...at('uses'), name: t.tabUses },
    ...kind === 'agents' || session.parent !== undefined ? [{ ...at('tree'), name: t.tabTree }] : [],
    ...kind === 'plans' ? [{ href: `/traces/${traceId(session.id)}`, isHere: false, name: t.tabTrace }] : []
  ]
  return <><Tabs label={t.partsOfSession} tabs={tabs} />{partOf(tab, kind, { session, followed })}</>
}

function partOf (tab: string, kind: string, shown: Shown): ReactNode {
  const { session, followed } = shown
  if (tab === 'timeline') {
    return <Suspense fallback={<p className='quiet loading'>{t.loading}</p>}><Timeline id={session.id} count={followed.events.length} /></Suspense>
  }
  if (tab === 'tree') return <TreeTab session={session} />
  if (tab === 'uses') return <UsesTab session={session} />
  switch (kind) {
    case 'agents': return <ChatTab {...shown} />
    case 'skills': return <SkillTab {...shown} />
    case 'plans': return <PlanTab {...shown} />
    default: return <Talk {...shown}><ApprovalQueue approvals={session.approvals} /></Talk>
  }
}

/** The id of the trace of a session: the session's id, written as a UUID. */
function traceId (id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}

/** The tab of a skill: its dialogue and its commands, and at the end what the skill waits for now. */
function SkillTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const skill = useSkill(session)
  return (
    <div className='split aside'>
      <div><Talk session={session} followed={followed}><Wanted session={session} skill={skill} /></Talk></div>
      <aside className='stack'>
        <SessionFacts session={session}>
          {skill.data !== undefined && <><dt>{t.runsOn}</dt><dd className='mono'>{skill.data.serverId ?? t.byYourself}</dd></>}
        </SessionFacts>
      </aside>
    </div>
  )
}

/** The tab with the tree of a session: the sessions that it has started, and the sessions that these have started. */
function TreeTab ({ session }: { readonly session: Session }) {
  return (
    <Loaded query={useTree(session)}>
      {tree => (
        <section className='panel'>
          <ul className='body sessions-tree' aria-label={t.tabTree}><Branch tree={tree} here={session.id} /></ul>
          {tree.children.length === 0 && <p className='hint inside'>{t.treeNone}</p>}
        </section>
      )}
    </Loaded>
  )
}

/** Shows one session of the tree, and below it the sessions that it has started. @param here id of the session whose page this is */
function Branch ({ tree: { id, definition, status, updatedAt, children }, here }: { readonly tree: Tree, readonly here: string }) {
  const { kind, name } = partsOf(definition)
  const { words, tone } = stateOf(status)
  return (
    <li>
      <span className='row wrap-row'>
        {id === here ? <b><Revealed text={name} /></b> : <Link href={`/sessions/${id}`} data-row><Revealed text={name} /></Link>}
        <span className='quiet'>{t.kindOf(kind)}</span>
        <span className={`chip ${tone}`}>{words}</span>
        <span className='quiet'><When at={updatedAt} /></span>
      </span>
      {children.length > 0 && <ul>{children.map(child => <Branch key={child.id} tree={child} here={here} />)}</ul>}
    </li>
  )
}

/** The tab with all that a session has used: its definition, models, tools, targets and workspaces. */
function UsesTab ({ session: { id, seq } }: { readonly session: Session }) {
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

type Use = paths['/api/sessions/{id}/uses']['get']['responses']['200']['content']['application/json']['uses'][number]

function UsesTable ({ uses }: { readonly uses: readonly Use[] }) {
  return (
    <table>
      <thead>
        <tr>
          <th scope='col'>{t.what}</th>
          <th scope='col' className='right'>{t.calls}</th>
          <th scope='col' className='right'>{t.failedOf}</th>
          <th scope='col' className='right wide'>{t.tokens}</th>
          <th scope='col' className='right'>{t.cost}</th>
        </tr>
      </thead>
      <tbody>
        {uses.map(({ kind, name, calls, failures, tokens, costUsd, unpricedCalls }) => (
          <tr key={`${kind} ${name}`}>
            <td className='wrap'><UsedName kind={kind} name={name} /> <span className='quiet'>{t.useKind(kind)}</span></td>
            <td className='right num'>{number(calls)}</td>
            <td className='right num'>{failures > 0 ? <b className='alarm'>{number(failures)}</b> : 0}</td>
            <td className='right num wide'>{tokens > 0 && number(tokens)}</td>
            <td className='right num'>{kind === 'llm' && costWords({ costUsd, unpricedCalls })}</td>
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
function UsedName ({ kind, name }: { readonly kind: string, readonly name: string }): ReactNode {
  const mayRead = useMay('read')
  const words = <code>{name}</code>
  if (kind === 'tool') return mayRead ? <Link href={`/tools/${encodeURIComponent(name)}`}>{words}</Link> : words
  return kind === 'llm' || kind === 'check' ? words : <Link href='/targets'>{words}</Link>
}
