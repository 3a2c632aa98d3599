import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { ApprovalQueue } from '../approvals/approval-queue.tsx'
import { t } from '../text/text.ts'
import { Composer } from './composer.tsx'
import { SessionFacts } from './session-facts.tsx'
import { Talk } from './talk.tsx'
import { type Followed, type Session } from './use-session.ts'
import { hasEnded, partsOf } from './words.ts'

interface AgentDefinition { readonly tools?: ReadonlyArray<{ readonly name: string }>, readonly ask?: readonly string[], readonly commands?: Readonly<Record<string, unknown>> }

/** A chat with an agent, as its words come. */
export function ChatTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const { name } = partsOf(session.definition)
  const agent = useQuery({ queryKey: ['registry', 'agent', name], queryFn: async () => await take(api.GET('/api/agents/{id}', { params: { path: { id: name } } })) as AgentDefinition, retry: false }).data
  const say = (text: string, key: string) => take(api.POST('/api/sessions/{id}/input', { params: { path: { id: session.id }, header: { 'idempotency-key': key } as never }, body: { text } }))
  const words = Object.values(agent?.commands ?? { exit: '/exit', help: '/help', clear: '/clear' }).flatMap(each => Array.isArray(each) ? each.slice(0, 1) as unknown[] : [each]).filter(each => typeof each === 'string')
  return (
    <div className='split aside'>
      <div>
        <Talk session={session} followed={followed}>
          <ApprovalQueue approvals={session.approvals} />
          {hasEnded(session.status)
            ? <p className='note'>{t.sessionEnded} <Link href={`/sessions/new?of=${session.definition}`}>{t.startAgain}</Link></p>
            : <Composer label={t.writeTo(name)} isOff={session.status === 'running'} send={say}>{words.map(word => <button key={word} type='button' className='button plain small' disabled={session.status !== 'waiting_input'} onClick={() => { void say(word, crypto.randomUUID()) }}>{word}</button>)}</Composer>}
        </Talk>
      </div>
      <aside className='stack'>
        {(agent?.tools?.length ?? 0) > 0 && (
          <section className='panel'>
            <header><h2>{t.mayCall}</h2></header>
            <ul>{agent?.tools?.map(({ name: tool }) => <li key={tool} className='row item'><span className='grow mono cut'>{tool}</span><span className={agent.ask?.includes(tool) === true ? 'chip warn' : 'chip'}>{agent.ask?.includes(tool) === true ? t.asks : t.unasked}</span></li>)}</ul>
          </section>
        )}
        <SessionFacts session={session} />
      </aside>
    </div>
  )
}
