import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link } from 'wouter'
import { ApprovalQueue } from '../../approvals/approval-queue.tsx'
import { api, take } from '../../api/client.ts'
import { t } from '../../text/text.ts'
import { Composer } from '../composer.tsx'
import { SessionFacts } from '../session-facts.tsx'
import { Talk } from '../talk.tsx'
import { type Followed, type Session } from '../use-session.ts'
import { hasEnded } from '../words.ts'
import { ManualCommand } from './manual-command.tsx'

/** A skill: what was said, asked and ran, and at the end the one thing that is wanted now. */
export function SkillTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const skill = useQuery({ queryKey: ['skill', session.id], queryFn: async () => (await take(api.GET('/api/skills/{id}', { params: { path: { id: session.id } } }))).data, staleTime: 0 })
  const refetch = skill.refetch
  useEffect(() => { void refetch() }, [session.seq, session.status, refetch])
  const { id } = session
  const input = (body: { readonly text?: string, readonly action?: { readonly name: string } }, key: string) => take(api.POST('/api/sessions/{id}/input', { params: { path: { id }, header: { 'idempotency-key': key } as never }, body }))
  const act = (name: string) => { void input({ action: { name } }, crypto.randomUUID()) }
  const said = skill.data?.aiResponse
  const isWaiting = session.status === 'waiting_input' && !skill.isFetching
  const wanted = () => {
    if (hasEnded(session.status)) return <p className='note'>{t.sessionEnded} <Link href={`/sessions/new?of=${session.definition}`}>{t.startAgain}</Link></p>
    if (!isWaiting || skill.data === undefined) return null
    if (said?.isInterrupted === true) return <p className='note warn wrap-row'>{t.interrupted} <button type='button' className='button small' onClick={() => { act('again') }}>{t.runAgain}</button><button type='button' className='button small' onClick={() => { act('skip') }}>{t.skipCommand}</button></p>
    if (skill.data.state === 'waiting_cmd') return <ManualCommand id={id} command={skill.data.pendingCommand ?? ''} />
    if (skill.data.state === 'waiting_user') return <Composer label={said?.required === false ? t.answerOptional : t.answerField} mayBeEmpty={said?.required === false} send={(text, key) => input({ text }, key)} />
    return <div className='dock composer'><div className='row'><span className='grow quiet'>{t.goOnHint}</span><button type='button' className='button primary' onClick={() => { act('continue') }}>{t.continue}</button></div></div>
  }
  return (
    <div className='split aside'>
      <div>
        <Talk session={session} followed={followed}>
          <ApprovalQueue approvals={session.approvals} />
          {wanted()}
        </Talk>
      </div>
      <aside className='stack'>
        <SessionFacts session={session}>{skill.data !== undefined && <><dt>{t.runsOn}</dt><dd className='mono'>{skill.data.serverId ?? t.byYourself}</dd></>}</SessionFacts>
      </aside>
    </div>
  )
}
