import { useQuery } from '@tanstack/react-query'
import { Link } from 'wouter'
import { api, takePage } from '../api/client.ts'
import { listTools } from '../api/listings.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { type Mistake } from '../api/preview.ts'

interface Problem { readonly key?: string, readonly id?: string, readonly cursor: string, readonly state: string, readonly diagnostics: readonly Mistake[] }

/** What is registered and not served as it is stored, each with its place and the way there; and tools that cannot be reached. */
export function ProblemsPage () {
  const query = useQuery({ queryKey: ['registry', 'problems'], queryFn: async () => (await takePage<Problem>(api.GET('/api/status/entries', { params: { query: { limit: 500 } } }))).rows, refetchInterval: 5000 })
  const tools = useQuery({ queryKey: ['registry', 'tools', 'down'], queryFn: findDown, refetchInterval: 10_000 })
  const wrong = (query.data ?? []).filter(isWrong)
  const noticed = (query.data ?? []).filter(problem => !isWrong(problem))
  return (
    <>
      <PageTitle title={t.problems} note={query.data === undefined ? undefined : wrong.length === 0 ? t.problemsNone : t.problemsCount(wrong.length)} />
      <Loaded query={query}>
        {() => (
          <div className='stack'>
            {wrong.map(problem => <ProblemPanel key={problem.cursor} problem={problem} />)}
            {(tools.data ?? []).map(({ id, reason }) => <DownTool key={id} id={id} reason={reason} />)}
            {noticed.length > 0 && <details className='panel'><summary>{t.noticed} <span className='quiet num'>{noticed.length}</span></summary><div className='body stack'>{noticed.map(problem => <ProblemPanel key={problem.cursor} problem={problem} />)}</div></details>}
            <Empty title={wrong.length === 0 && (tools.data ?? []).length === 0 ? t.nothingWrong : t.nothingElse}>{t.problemsHint}</Empty>
          </div>
        )}
      </Loaded>
    </>
  )
}

/** Whether an entry is not served as it is stored; others are, with a remark. */
function isWrong ({ diagnostics, state }: Problem): boolean {
  return state !== 'valid' && diagnostics.some(({ severity }) => severity === 'error')
}

function ProblemPanel ({ problem: { key, id, state, diagnostics } }: { readonly problem: Problem }) {
  const kind = key === undefined ? '' : /:(\w+):[^:]*(?::.*)?$/.exec(key)?.[1] ?? ''
  const path = placeOf(key, id, diagnostics[0])
  const tone = diagnostics.some(({ severity }) => severity === 'error') ? 'bad' : 'warn'
  return (
    <section className='panel'>
      <header>
        <span className={tone === 'bad' ? 'dot bad' : 'dot warn'} />
        <h2 className='wrap'>{path === undefined ? <Revealed text={id ?? key ?? ''} /> : <Link href={path}><Revealed text={id ?? key ?? ''} /></Link>}</h2>
        <span className='quiet'>{kind}</span>
        <span className='grow' />
        {diagnostics[0] !== undefined && <span className={`chip ${tone}`}>{diagnostics[0].code}</span>}
      </header>
      <div className='body stack tight'>
        {diagnostics.slice(0, 20).map((mistake, index) => (
          <div key={index}>
            <p className='wrap'><Revealed text={mistake.message} /> {index === 0 && state === 'stale' && <b>{t.lastGoodServed}</b>}</p>
            <p className='hint wrap'>{mistake.messageIndex !== undefined && `${t.messageNumber(mistake.messageIndex + 1)}, `}{t.lineColumn(mistake.line, mistake.column)}{mistake.hint !== '' && <> · <Revealed text={mistake.hint} /></>}</p>
          </div>
        ))}
        <div className='row'>{path !== undefined && <Link href={path} className='button small'>{t.openThere}</Link>}<CopyButton label={t.copyAsJson} text={() => JSON.stringify({ key, id, state, diagnostics }, null, 2)} /></div>
      </div>
    </section>
  )
}

function DownTool ({ id, reason }: { readonly id: string, readonly reason: string }) {
  return (
    <section className='panel'>
      <header><span className='dot warn' /><h2><Link href={`/tools/${encodeURIComponent(id)}`}>{id}</Link></h2><span className='quiet'>{t.tool}</span><span className='grow' /><span className='chip warn'>{t.notConnected}</span></header>
      <p className='body wrap'><Revealed text={reason} /> {t.toolDown}</p>
    </section>
  )
}

/** The screen on which an entry is mended, at the place of its first mistake. */
function placeOf (key: string | undefined, id: string | undefined, mistake: Mistake | undefined): string | undefined {
  const name = id ?? key?.split(':').slice(2).join('.')
  if (name === undefined) return undefined
  const screen = ([['templates', 'prompts'], ['environs', 'environs'], ['tools', 'tools'], ['extensions', 'extensions']] as const).find(([kind]) => key === undefined || key.includes(`:${kind}:`))?.[1]
  if (screen === undefined) return undefined
  const place = screen === 'prompts' && mistake !== undefined ? `?line=${mistake.line}&column=${mistake.column}&message=${mistake.messageIndex ?? 0}` : ''
  return `/${screen}/${encodeURIComponent(name)}${place}`
}

/** Tools of which no call gets through; of at most 100, since each is asked about by itself. */
async function findDown (): Promise<ReadonlyArray<{ readonly id: string, readonly reason: string }>> {
  const tools = await Promise.all((await listTools()).slice(0, 100).map(async ({ id }) => (await api.GET('/api/tools/{id}', { params: { path: { id } } })).data as { readonly id: string, readonly preparation?: string, readonly breaker?: { readonly state: string }, readonly statistics?: { readonly lastError?: { readonly message: string } } } | undefined))
  return tools.flatMap(tool => tool !== undefined && (tool.preparation === 'failed' || tool.breaker?.state === 'open') ? [{ id: tool.id, reason: tool.statistics?.lastError?.message ?? '' }] : [])
}
