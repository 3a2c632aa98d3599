import { useQuery } from '@tanstack/react-query'
import { api, take } from '../../api/client.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { OtherWays, quoted } from './other-ways.tsx'
import { useStart } from './use-start.ts'

interface Agent { readonly help?: string, readonly mode?: string, readonly tools?: ReadonlyArray<{ readonly name: string, readonly description?: string }>, readonly ask?: readonly string[], readonly budget?: Readonly<Record<string, unknown>> }

/** An agent needs nothing to begin: what it does, what it may call, and one button. */
export function StartAgent ({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['registry', 'agent', id], queryFn: async () => await take(api.GET('/api/agents/{id}', { params: { path: { id } } })) as Agent })
  const { start, error, isBusy } = useStart()
  return (
    <Loaded query={query}>
      {({ help, tools = [], ask = [], budget }) => (
        <div className='split halves'>
          <div className='stack'>
            {help !== undefined && <section className='panel'><header><h2>{t.help}</h2></header><p className='body said pre'><Revealed text={help} /></p></section>}
            <section className='panel'>
              <header><h2>{t.mayCall}</h2></header>
              {tools.length === 0 ? <p className='body quiet'>{t.callsNothing}</p> : <ul>{tools.map(({ name, description }) => <li key={name} className='item'><div className='row'><code className='grow'>{name}</code><span className={ask.includes(name) ? 'chip warn' : 'chip'}>{ask.includes(name) ? t.asks : t.unasked}</span></div><p className='hint wrap'>{description}</p></li>)}</ul>}
            </section>
            {budget !== undefined && <p className='quiet'>{t.budget} <code>{JSON.stringify(budget)}</code></p>}
            {error !== undefined && <ErrorNote error={error} />}
            <div>
              <button
                type='button'
                className='button primary'
                disabled={isBusy}
                onClick={() => { void start(async key => (await take(api.POST('/api/agents/{id}/sessions', { params: { path: { id }, header: { 'idempotency-key': key } as never } })) as { readonly id: string }).id) }}
              >
                {t.startDialogue}
              </button>
            </div>
          </div>
          <OtherWays lines={[['aps', `npx aps agent ${quoted(id)} --url ${location.origin}`], ['curl', `curl -X POST ${location.origin}/api/agents/${encodeURIComponent(id)}/sessions`]]} />
        </div>
      )}
    </Loaded>
  )
}
