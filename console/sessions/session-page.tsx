import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useMemo, useState } from 'react'
import { Link, useLocation, useSearch } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Filters } from '../parts/filters.tsx'
import { Loaded } from '../parts/loading.tsx'
import { MoreButton } from '../parts/more-button.tsx'
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

function UsesTable ({ uses }: {
  readonly uses: ReadonlyArray<{ readonly kind: string, readonly name: string, readonly calls: number, readonly failures: number, readonly tokens: number }>
}) {
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
function UsedName ({ kind, name }: { readonly kind: string, readonly name: string }): ReactNode {
  const mayRead = useMay('read')
  const words = <code>{name}</code>
  if (kind === 'tool') return mayRead ? <Link href={`/tools/${encodeURIComponent(name)}`}>{words}</Link> : words
  return kind === 'llm' || kind === 'check' ? words : <Link href='/targets'>{words}</Link>
}

/** The number of steps that one request asks for, and the number of steps that are shown at first. */
const PAGE = 1000
const ROWS = 200

/**
 * The tab with the audit of a session, a sentence for each step in the order of time: who did what, and when. The effects of a step are
 * folded below its sentence.
 */
function TimelineTab ({ id, count }: { readonly id: string, readonly count: number }) {
  const [q, setQ] = useState('')
  const [most, setMost] = useState(ROWS)
  const query = useInfiniteQuery({
    queryKey: ['session', id, 'audit'],
    initialPageParam: 0,
    queryFn: async ({ pageParam }) => {
      const wish = { params: { path: { id }, query: { after: pageParam, limit: PAGE } } }
      return await take(api.GET('/api/sessions/{id}/audit', wish)) as readonly Step[]
    },
    getNextPageParam: last => last.length < PAGE ? undefined : last.at(-1)?.seq
  })
  const { refetch } = query
  useEffect(() => { if (count > 0) void refetch() }, [count, refetch])
  const steps = useMemo(() => query.data?.pages.flat() ?? [], [query.data])
  const told = useMemo(() => sentencesOf(steps).map((words, index) => ({ step: steps[index] as Step, words })), [steps])
  const found = q === '' ? told : told.filter(({ words }) => words.toLowerCase().includes(q.toLowerCase()))
  const save = () => { download(`${id}.jsonl`, 'application/jsonl', steps.map(step => JSON.stringify(step)).join('\n')) }
  const more = () => {
    setMost(most + PAGE)
    if (query.hasNextPage) void query.fetchNextPage()
  }
  return (
    <>
      <Filters label={t.filterTimeline} value={q} onChange={setQ}>
        <button type='button' className='button' onClick={save}>{t.keepAsLines}</button>
      </Filters>
      {query.error !== null && <ErrorNote error={query.error} />}
      <ol className='talk'>
        {found.slice(0, most).map(({ step, words }) => (
          <li key={step.seq}>
            <When at={step.at} exact />
            <div>
              <p className='wrap'><Revealed text={words} /></p>
              <Begun step={step} />
            </div>
          </li>
        ))}
      </ol>
      {(found.length > most || query.hasNextPage) && <MoreButton onPress={more} />}
    </>
  )
}

/** Shows the effects that a step began, held back for approval, and denied, folded. */
function Begun ({ step: { fact, begun, held, denied } }: { readonly step: Step }) {
  const [isOpen, setOpen] = useState(false)
  if (begun.length + held.length + denied.length === 0) return null
  return (
    <details className='ran' onToggle={event => { setOpen(event.currentTarget.open) }}>
      <summary>{t.begunHeldDenied(begun.length, held.length, denied.length)}</summary>
      {isOpen && <pre tabIndex={0} aria-label={t.details}><Revealed text={JSON.stringify({ fact, begun, held, denied }, null, 2)} /></pre>}
    </details>
  )
}

/** A step in the audit of a session: what happened (the fact), and the effects that it began, held back for approval, or denied. */
interface Step {
  readonly seq: number
  readonly at: string
  readonly fact: unknown
  readonly begun: readonly unknown[]
  readonly held: readonly unknown[]
  readonly denied: readonly unknown[]
}

type Facts = Readonly<Record<string, unknown>>

/**
 * Makes the sentence for each kind of fact. The second argument names the person who caused the fact, the third describes the effect that
 * the fact is about.
 */
const SENTENCES: Readonly<Record<string, (facts: Facts, by: string, effect: string) => string>> = {
  started: ({ start }) => t.factStarted(String((start as { readonly definition?: string } | undefined)?.definition)),
  input: ({ action, text }, by) => action === undefined ? t.factSaid(by, String(text)) : t.factAction(by, String((action as { readonly name?: string }).name)),
  decided: ({ decision }, by, effect) => `${decision === 'approve' ? t.factAllowed(by) : t.factRefused(by)}: ${effect}`,
  refused: ({ reason }, by) => `${t.factRefused(by)}: ${String(reason)}`,
  result: (_facts, _by, effect) => t.factEnded(effect),
  failure: ({ message }, _by, effect) => `${t.factFailed(effect)}: ${String(message)}`,
  unknown: (_facts, _by, effect) => t.factUnknown(effect),
  took: () => t.factTook,
  stopped: ({ reason }, by) => `${t.factStopped(by)}: ${String(reason)}`
}

/** Makes a sentence for each step of an audit. A fact of an unknown kind is described by the name of the kind. */
function sentencesOf (steps: readonly Step[]): readonly string[] {
  const told = steps.flatMap(({ begun, held }) => [...held.map(heldOf), ...begun]) as readonly Facts[]
  const effects = new Map(told.map(effect => [String(effect['id']), wordsOf(effect)]))
  return steps.map(({ fact, begun: [first] }) => {
    const facts = (typeof fact === 'object' && fact !== null ? fact : {}) as Facts
    const kind = String(facts['kind'])
    const effect = String(facts['effect'])
    const by = typeof facts['by'] === 'string' && facts['by'] !== '' ? facts['by'] : t.somebody
    const sentence = Object.hasOwn(SENTENCES, kind) ? SENTENCES[kind]?.(facts, by, effects.get(effect) ?? effect) : kind
    return `${sentence ?? kind}${first === undefined ? '' : ` → ${wordsOf(first as Facts)}`}`
  })
}

/** Converts an effect that waits for approval into the form of an effect that has begun. */
function heldOf (held: unknown): Facts {
  const { id, kind, target, command, tool } = (held as { readonly effect: Facts }).effect
  return { id, kind, subject: { target, command, tool } }
}

/** Describes an effect in words: its kind, and its subject, such as a target and a command. */
function wordsOf ({ kind, subject }: Facts): string {
  const about: readonly unknown[] = Object.values(subject ?? {})
  return [...new Set([t.useKind(String(kind)), ...about.filter(each => each !== undefined).map(String)])].join(' ')
}

/** Lets the user save a text as a file. */
function download (name: string, type: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
