import { useQuery } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { OtherWays, quoted } from './other-ways.tsx'
import { useStart } from './use-start.ts'

interface Tool { readonly name: string, readonly description?: string }

interface Agent {
  readonly help?: string
  readonly tools?: readonly Tool[]
  readonly ask?: readonly string[]
  readonly budget?: Readonly<Record<string, unknown>>
}

/**
 * The page that starts a session with an agent: what the agent does, which tools it may call, and one button, since an agent needs no input
 * to begin.
 */
export function StartAgent ({ id }: { readonly id: string }) {
  const query = useQuery({
    queryKey: ['registry', 'agent', id],
    queryFn: async () => await take(api.GET('/api/agents/{id}', { params: { path: { id } } })) as Agent
  })
  const { start, error, isBusy } = useStart()
  const begin = () => start(async key => {
    const session = await take(api.POST('/api/agents/{id}/sessions', { params: { path: { id }, header: { 'idempotency-key': key } as never } }))
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
            {error !== undefined && <ErrorNote error={error} />}
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
