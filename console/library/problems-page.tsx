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
import { downWords, type ToolHealth } from './tool-health.ts'

interface Problem { readonly key?: string, readonly id?: string, readonly cursor: string, readonly state: string, readonly diagnostics: readonly Mistake[] }

/** The time between two requests for entries with mistakes, and between two requests for the state of the tools, in ms. */
const [INTERVAL, TOOL_INTERVAL] = [5000, 10_000]

/** The largest numbers of entries in one request, of tools (each needs its own request), and of mistakes that are shown for one entry. */
const [MOST_ENTRIES, MOST_TOOLS, MOST_MISTAKES] = [500, 100, 20]

/** The page with the entries that are not served as they are stored, each with a link to its mistake, and with the tools that cannot be called. */
export function ProblemsPage () {
  const query = useQuery({ queryKey: ['registry', 'problems'], queryFn: listProblems, refetchInterval: INTERVAL })
  const tools = useQuery({ queryKey: ['registry', 'tools', 'down'], queryFn: findDown, refetchInterval: TOOL_INTERVAL }).data ?? []
  const wrong = (query.data ?? []).filter(isWrong)
  const noticed = (query.data ?? []).filter(problem => !isWrong(problem))
  const note = query.data === undefined ? undefined : wrong.length === 0 ? t.problemsNone : t.problemsCount(wrong.length)
  return (
    <>
      <PageTitle title={t.problems} note={note} />
      <Loaded query={query}>
        {() => (
          <div className='stack'>
            {wrong.map(problem => <ProblemPanel key={problem.cursor} problem={problem} />)}
            {tools.map(tool => <DownToolPanel key={tool.id} tool={tool} />)}
            {noticed.length > 0 && (
              <details className='panel'>
                <summary>{t.noticed} <span className='quiet num'>{noticed.length}</span></summary>
                <div className='body stack'>{noticed.map(problem => <ProblemPanel key={problem.cursor} problem={problem} />)}</div>
              </details>
            )}
            <Empty title={wrong.length + tools.length === 0 ? t.nothingWrong : t.nothingElse}>{t.problemsHint}</Empty>
          </div>
        )}
      </Loaded>
    </>
  )
}

async function listProblems (): Promise<readonly Problem[]> {
  return (await takePage<Problem>(api.GET('/api/status/entries', { params: { query: { limit: MOST_ENTRIES } } }))).rows
}

/** Whether an entry has an error and is not served as it is stored. Other entries on this page are served, and only have a remark. */
function isWrong ({ diagnostics, state }: Problem): boolean {
  return state !== 'valid' && diagnostics.some(({ severity }) => severity === 'error')
}

function ProblemPanel ({ problem }: { readonly problem: Problem }) {
  const { key, id, state, diagnostics } = problem
  const kind = key === undefined ? '' : /:(\w+):[^:]*(?::.*)?$/.exec(key)?.[1] ?? ''
  const path = placeOf(problem)
  const tone = diagnostics.some(({ severity }) => severity === 'error') ? 'bad' : 'warn'
  const name = <Revealed text={id ?? key ?? ''} />
  return (
    <section className='panel'>
      <header>
        <span className={`dot ${tone}`} />
        <h2 className='wrap'>{path === undefined ? name : <Link href={path}>{name}</Link>}</h2>
        <span className='quiet'>{kind}</span>
        <span className='grow' />
        {diagnostics[0] !== undefined && <span className={`chip ${tone}`}>{diagnostics[0].code}</span>}
      </header>
      <div className='body stack tight'>
        {diagnostics.slice(0, MOST_MISTAKES).map((mistake, index) => (
          <MistakeWords
            key={index}
            mistake={mistake}
            isServed={index === 0 && state === 'stale'}
          />
        ))}
        <div className='row'>
          {path !== undefined && <Link href={path} className='button small'>{t.openThere}</Link>}
          <CopyButton label={t.copyAsJson} text={() => JSON.stringify({ key, id, state, diagnostics }, null, 2)} />
        </div>
      </div>
    </section>
  )
}

function MistakeWords ({ mistake: { message, messageIndex, line, column, hint }, isServed }: { readonly mistake: Mistake, readonly isServed: boolean }) {
  return (
    <div>
      <p className='wrap'><Revealed text={message} /> {isServed && <b>{t.lastGoodServed}</b>}</p>
      <p className='hint wrap'>
        {messageIndex !== undefined && `${t.messageNumber(messageIndex + 1)}, `}{t.lineColumn(line, column)}{hint !== '' && <> · <Revealed text={hint} /></>}
      </p>
    </div>
  )
}

function DownToolPanel ({ tool: { id, words, reason } }: {
  readonly tool: { readonly id: string, readonly words: string, readonly reason: string }
}) {
  return (
    <section className='panel'>
      <header>
        <span className='dot warn' />
        <h2 className='wrap'><Link href={`/tools/${encodeURIComponent(id)}`}>{id}</Link></h2>
        <span className='quiet'>{t.tool}</span>
        <span className='grow' />
        <span className='chip warn'>{words}</span>
      </header>
      <div className='body'><p className='wrap'><Revealed text={reason} /></p><p className='hint'>{t.toolDown}</p></div>
    </section>
  )
}

/** The screen for each kind of entries, by the kind's name in the store's keys. */
const SCREENS = [['templates', 'prompts'], ['environs', 'environs'], ['tools', 'tools'], ['extensions', 'extensions']] as const

/** The path of the screen on which an entry can be corrected, at its first mistake; `undefined` for an entry without a screen. */
function placeOf ({ key, id, diagnostics: [mistake] }: Problem): string | undefined {
  const name = id ?? key?.split(':').slice(2).join('.')
  const screen = SCREENS.find(([kind]) => key === undefined || key.includes(`:${kind}:`))?.[1]
  if (name === undefined || screen === undefined) return undefined
  const place = screen === 'prompts' && mistake !== undefined ? `?line=${mistake.line}&column=${mistake.column}&message=${mistake.messageIndex ?? 0}` : ''
  return `/${screen}/${encodeURIComponent(name)}${place}`
}

/** Finds the tools that cannot be called, as far as the service knows. */
async function findDown () {
  const ids = (await listTools()).slice(0, MOST_TOOLS).map(({ id }) => id)
  const tools = await Promise.all(ids.map(async id => (await api.GET('/api/tools/{id}', { params: { path: { id } } })).data as
    ToolHealth & { readonly id: string, readonly statistics?: { readonly lastError?: { readonly message: string } } } | undefined))
  return tools.flatMap(tool => {
    const words = tool === undefined ? undefined : downWords(tool)
    return tool === undefined || words === undefined ? [] : [{ id: tool.id, words, reason: tool.statistics?.lastError?.message ?? '' }]
  })
}
