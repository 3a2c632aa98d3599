import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { Link } from 'wouter'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { ApprovalQueue } from '../../approvals/approval-queue.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { Composer } from '../composer.tsx'
import { type Session } from '../follow/use-session.ts'
import { partsOf } from '../words.ts'
import { below, type Tree, useTree } from './tree.ts'

/** The largest number of waiting child sessions whose state is requested. */
const MOST = 20

/** The time between two requests for the state of the waiting child sessions, in ms. */
const INTERVAL = 3000

/**
 * Shows what waits for a person in a session and in its child sessions: approvals and questions. The decision or answer is sent to the
 * session that asks.
 */
export function Asks ({ session }: { readonly session: Session }) {
  const tree = useTree(session).data
  const waiting = useMemo(() => tree === undefined ? [] : below(tree).filter(({ status }) => status.startsWith('waiting')).slice(0, MOST), [tree])
  const children = useQuery({
    queryKey: ['session', session.id, 'below', waiting.map(({ id, updatedAt }) => `${id} ${updatedAt}`)],
    queryFn: () => Promise.all(waiting.map(({ id }) => take(api.GET('/api/sessions/{id}', { params: { path: { id } } })))),
    enabled: waiting.length > 0,
    refetchInterval: INTERVAL,
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
  const answer = async (text: string, key: string) => {
    await take(api.POST('/api/sessions/{id}/input', { params: { path: { id }, header: { 'idempotency-key': key } as never }, body: { text } }))
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
