import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { useFallback } from '../api/changes.ts'
import { api, take } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { type Once, useSending } from '../api/sending.ts'
import { ApprovalQueue } from '../approvals/approval-queue.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { below, type Tree, useTree } from './children/tree.ts'
import { Composer } from './composer.tsx'
import type { Followed, Session } from './follow/use-session.ts'
import { SessionFacts } from './session-facts.tsx'
import { Talk } from './talk.tsx'
import { hasEnded, partsOf } from './words.ts'

interface AgentDefinition {
  readonly tools?: ReadonlyArray<{ readonly name: string }>
  readonly ask?: readonly string[]
  readonly commands?: Readonly<Record<string, unknown>>
}

/** The commands of an agent whose definition names none. */
const WORDS = { exit: '/exit', help: '/help', clear: '/clear' }

/** The tab with the dialogue of an agent's session. It shows an answer while the model writes it. */
export function ChatTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const { id, definition, status } = session
  const { name } = partsOf(definition)
  const agent = useQuery({
    queryKey: ['registry', 'agent', name],
    queryFn: async () => await take(api.GET('/api/agents/{id}', { params: { path: { id: name } } })) as AgentDefinition,
    retry: false
  }).data
  const say = (text: string, { header, signal }: Once) =>
    take(api.POST('/api/sessions/{id}/input', { params: { path: { id }, header }, body: { text }, signal }))
  const { error, isBusy, send } = useSending()
  return (
    <div className='split aside'>
      <div>
        <Talk session={session} followed={followed}>
          <Asks session={session} />
          {error !== undefined && <ErrorNote error={error} isSent />}
          {hasEnded(status)
            ? <p className='note'>{t.sessionEnded} <Link href={`/sessions/new?of=${definition}`}>{t.startAgain}</Link></p>
            : (
              <Composer label={t.writeTo(name)} isOff={status === 'running'} send={say}>
                {wordsOf(agent).map(word => (
                  <button
                    key={word}
                    type='button'
                    className='button plain small'
                    disabled={isBusy || status !== 'waiting_input'}
                    onClick={() => { void send(word, once => say(word, once)) }}
                  >
                    {word}
                  </button>
                ))}
              </Composer>
              )}
        </Talk>
      </div>
      <aside className='stack'>
        <MayCall agent={agent} />
        <SessionFacts session={session} />
      </aside>
    </div>
  )
}

/** The commands, such as `/exit`, that the user may type to the agent; of several spellings only the first. */
function wordsOf (agent: AgentDefinition | undefined): readonly string[] {
  const words = Object.values(agent?.commands ?? WORDS).flatMap(each => Array.isArray(each) ? each.slice(0, 1) as unknown[] : [each])
  return words.filter(word => typeof word === 'string')
}

function MayCall ({ agent: { tools = [], ask = [] } = {} }: { readonly agent: AgentDefinition | undefined }) {
  if (tools.length === 0) return null
  return (
    <section className='panel'>
      <header><h2>{t.mayCall}</h2></header>
      <ul>
        {tools.map(({ name }) => (
          <li key={name} className='row item'>
            <span className='grow mono cut'>{name}</span>
            <span className={ask.includes(name) ? 'chip warn' : 'chip'}>{ask.includes(name) ? t.asks : t.unasked}</span>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** The largest number of waiting child sessions whose state is requested. */
const MOST = 20

/**
 * Shows what waits for a person in a session and in its child sessions: approvals and questions. The decision or answer is sent to the
 * session that asks.
 */
function Asks ({ session }: { readonly session: Session }) {
  const tree = useTree(session).data
  const waiting = useMemo(() => tree === undefined ? [] : below(tree).filter(({ status }) => status.startsWith('waiting')).slice(0, MOST), [tree])
  const children = useQuery({
    queryKey: ['session', session.id, 'below', waiting.map(({ id, updatedAt }) => `${id} ${updatedAt}`)],
    queryFn: () => Promise.all(waiting.map(({ id }) => take(api.GET('/api/sessions/{id}', { params: { path: { id } } })))),
    enabled: waiting.length > 0,
    refetchInterval: useFallback(),
    staleTime: 0
  }).data ?? []
  const approvals = [...session.approvals, ...children.flatMap(({ approvals: asked }) => asked)]
  const key = approvals.map(({ id, digest }) => `${id}${digest}`).join()
  // `ApprovalQueue` takes a new list for a change, so it gets the same list until an approval has changed.
  const shown = useMemo(() => approvals, [key])
  return (
    <>
      <ApprovalQueue approvals={shown} />
      {waiting.filter(({ status }) => status === 'waiting_input').map(child => <Question key={`${child.id}${child.updatedAt}`} child={child} />)}
    </>
  )
}

/** Shows the question of a child session, and the field that answers it. */
function Question ({ child: { id, definition, updatedAt } }: { readonly child: Tree }) {
  const name = partsOf(definition).name
  const last = useQuery({
    queryKey: ['session', id, 'question', updatedAt],
    queryFn: () => take(api.GET('/api/sessions/{id}/messages', { params: { path: { id }, query: { last: true, limit: 5 } } })),
    staleTime: 0
  })
  const question = last.data?.messages.findLast(({ role, text }) => role === 'assistant' && text !== '')?.text ?? ''
  const answer = async (text: string, { header, signal }: Once) => {
    await take(api.POST('/api/sessions/{id}/input', { params: { path: { id }, header }, body: { text }, signal }))
    void queries.invalidateQueries({ queryKey: ['session'] })
  }
  return (
    <section className='panel child'>
      <header><h2>{t.asksYou(name)}</h2><span className='grow' /><Link href={`/sessions/${id}`}>{t.toSession}</Link></header>
      {question !== '' && <p className='body said pre'><Revealed text={question} /></p>}
      <Composer label={t.answerTo(name)} send={answer} />
    </section>
  )
}
