import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { t } from '../text/text.ts'
import { Asks } from './children/child-asks.tsx'
import { Composer } from './composer.tsx'
import { SessionFacts } from './session-facts.tsx'
import { Talk } from './talk.tsx'
import { type Followed, type Session } from './follow/use-session.ts'
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
  const say = (text: string, key: string) =>
    take(api.POST('/api/sessions/{id}/input', { params: { path: { id }, header: { 'idempotency-key': key } as never }, body: { text } }))
  const act = (word: string) => { void say(word, crypto.randomUUID()) }
  return (
    <div className='split aside'>
      <div>
        <Talk session={session} followed={followed}>
          <Asks session={session} />
          {hasEnded(status)
            ? <p className='note'>{t.sessionEnded} <Link href={`/sessions/new?of=${definition}`}>{t.startAgain}</Link></p>
            : (
              <Composer label={t.writeTo(name)} isOff={status === 'running'} send={say}>
                {wordsOf(agent).map(word => (
                  <button key={word} type='button' className='button plain small' disabled={status !== 'waiting_input'} onClick={() => { act(word) }}>
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
