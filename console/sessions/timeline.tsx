import { useInfiniteQuery } from '@tanstack/react-query'
import { type CSSProperties, useEffect, useMemo, useState } from 'react'
import { Link } from 'wouter'
import { api, take } from '../api/client.ts'
import { costWords } from '../parts/cost.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Filters } from '../parts/filters.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { Rows } from '../parts/table.tsx'
import { duration, number } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { axisOf, type Call, cameOf, type Line, linesOf, type Step, sumOfCosts } from './audit.ts'
import { endWords, lineWords } from './sentences.ts'

/** The number of steps that one request asks for, and the number of lines that are shown at first. */
const PAGE = 1000
const ROWS = 200

/** The deepest level of child sessions whose lines are indented more than those above. */
const DEEPEST = 4

/** The largest length of what came that a line shows, in UTF-16 units. */
const SHORT = 160

/** The audit of a session, page by page. @param count changes when there may be more of it */
function useAudit (id: string, count: number) {
  const query = useInfiniteQuery({
    queryKey: ['session', id, 'audit'],
    initialPageParam: 0,
    queryFn: async ({ pageParam }) => {
      const wish = { params: { path: { id }, query: { after: pageParam, limit: PAGE } } }
      return await take(api.GET('/api/sessions/{id}/audit', wish)) as unknown as readonly Step[]
    },
    getNextPageParam: last => last.length < PAGE ? undefined : last.at(-1)?.seq
  })
  const { refetch, data } = query
  useEffect(() => { if (count > 0) void refetch() }, [count, refetch])
  const steps = useMemo(() => data?.pages.flat() ?? [], [data])
  return { query, steps, lines: useMemo(() => linesOf(steps), [steps]) }
}

/**
 * What happened in a session, a sentence for each thing, in the order of time, with a bar that shows when it ran. A line unfolds to what was
 * given and what came, all of it as JSON, and for a child session to the lines of that.
 */
export function Timeline ({ id, count }: { readonly id: string, readonly count: number }) {
  const [q, setQ] = useState('')
  const [most, setMost] = useState(ROWS)
  const { query, steps, lines } = useAudit(id, count)
  const axis = useMemo(() => axisOf(lines.flatMap(({ call }) => call ?? []), Date.now()), [lines])
  const wordsOf = (line: Line) => `${lineWords(line)} ${line.call === undefined ? '' : endWords(line.call)}`.toLowerCase()
  const found = q === '' ? lines : lines.filter(line => wordsOf(line).includes(q.toLowerCase()))
  const save = () => { download(`${id}.jsonl`, steps.map(step => JSON.stringify(step)).join('\n')) }
  const more = () => {
    setMost(most + PAGE)
    if (query.hasNextPage) void query.fetchNextPage()
  }
  return (
    <>
      <Filters label={t.filterTimeline} value={q} onChange={setQ}>
        <button type='button' className='button' onClick={save}>{t.keepAsLines}</button>
      </Filters>
      {query.error !== null && <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />}
      {query.data !== undefined && lines.length === 0 && <p className='quiet'>{t.nothingHappened}</p>}
      {lines.length > 0 && (
        <section className='panel'>
          <header><h2>{t.happened}</h2><span className='grow' /><Sum lines={lines} /></header>
          <Rows columns={[t.began, t.happened, [t.took, 'right'], [t.tokens, 'right wide'], [t.cost, 'right wide'], [t.whenInIt, 'wide']]}>
            <LineRows lines={found.slice(0, most)} axis={axis} start={lines[0]?.at ?? 0} depth={0} />
          </Rows>
        </section>
      )}
      <p className='hint'>{t.barShort}</p>
      {(found.length > most || query.hasNextPage) && <MoreButton onPress={more} />}
    </>
  )
}

function Sum ({ lines }: { readonly lines: readonly Line[] }) {
  const calls = lines.flatMap(({ call }) => call === undefined ? [] : [call])
  const tokens = calls.reduce((sum, call) => sum + (call.tokens ?? 0), 0)
  const worked = calls.reduce((sum, call) => sum + (tookOf(call) ?? 0), 0)
  const cost = sumOfCosts(calls)
  return <span className='quiet num'>{t.allTook(calls.length, duration(worked), number(tokens))}{cost !== undefined && `, ${costWords(cost)}`}</span>
}

interface Placed {
  /** Where a time lies on the axis of the session that is looked at, from 0 to 1. */
  readonly axis: (at: number) => number
  /** When that session began, in ms since 1970. */
  readonly start: number
  /** How many sessions are above that of the line. */
  readonly depth: number
}

function LineRows ({ lines, ...placed }: Placed & { readonly lines: readonly Line[] }) {
  return <>{lines.map(line => <LineRow key={line.key} line={line} {...placed} />)}</>
}

/** The row of a line, and when it is unfolded a row with its details and the rows of the session that it began. */
function LineRow ({ line, axis, start, depth }: Placed & { readonly line: Line }) {
  const { at, call } = line
  const [isOpen, setOpen] = useState(false)
  const words = lineWords(line)
  const took = call && tookOf(call)
  return (
    <>
      <tr className={TONES[call?.end ?? 'ok']}>
        <td className='quiet'><When at={at} exact /></td>
        <td className='wrap'>
          <div data-depth={Math.min(depth, DEEPEST)}>
            <button type='button' className='plain-text line' aria-expanded={isOpen} aria-label={t.detailsOf(words)} onClick={() => { setOpen(!isOpen) }}>
              <span className='fold' aria-hidden>›</span> <Revealed text={words} />
            </button>
            {call !== undefined && <Ended call={call} />}
          </div>
        </td>
        <td className='right num nowrap'>{took !== undefined && duration(took)}</td>
        <td className='right num wide' title={call?.usage && t.tokensOf(number(call.usage.input), number(call.usage.output))}>
          {call?.tokens !== undefined && number(call.tokens)}
        </td>
        <td className='right num wide'>{call?.cost !== undefined && costWords(call.cost)}</td>
        <td className='wide bars'>{call?.began !== undefined && <Bar call={call} axis={axis} start={start} />}</td>
      </tr>
      {isOpen && <tr className='unfolded'><td /><td colSpan={5}><Details line={line} /></td></tr>}
      {isOpen && call?.session !== undefined && <ChildRows id={call.session} axis={axis} start={start} depth={depth + 1} />}
    </>
  )
}

const TONES: Readonly<Record<Call['end'], string | undefined>> = {
  ok: undefined, runs: undefined, waits: 'waits', failed: 'failed', refused: 'failed', denied: 'failed', unknown: 'doubt', 'given-up': 'doubt'
}

/** How a call ended, and the beginning of what came. */
function Ended ({ call }: { readonly call: Call }) {
  const ended = endWords(call)
  const came = cameOf(call).slice(0, 4 * SHORT).replaceAll(/\s+/g, ' ').trim()
  return (
    <>
      {ended !== '' && <span className='ended'><Revealed text={ended} /></span>}
      {came !== '' && <span className='quiet came'><Revealed text={came.length <= SHORT ? came : `${came.slice(0, SHORT)}…`} /></span>}
    </>
  )
}

/** When a call ran, beside the others. Screen readers read it as words. */
function Bar ({ call: { began = 0, ended = Date.now() }, axis, start }: { readonly call: Call } & Omit<Placed, 'depth'>) {
  const from = axis(began)
  const style: CSSProperties = { marginLeft: `${from * 100}%`, width: `${Math.max(0, axis(ended) - from) * 100}%` }
  return (
    <>
      <span className='bar-of' style={style} aria-hidden />
      <span className='unseen'>{t.barOf(duration(Math.max(0, began - start)), duration(Math.max(0, ended - began)))}</span>
    </>
  )
}

function Details ({ line: { call, steps } }: { readonly line: Line }) {
  const came = call === undefined ? '' : cameOf(call)
  const given = call?.arguments
  return (
    <div className='stack'>
      {given !== undefined && <Text title={t.calledWith} text={typeof given === 'string' ? given : JSON.stringify(given, null, 2)} />}
      {came !== '' && <Text title={t.came} text={came} />}
      {call?.usage !== undefined && (
        <p className='quiet num'>{t.tokensOf(number(call.usage.input), number(call.usage.output))}{call.cost !== undefined && `, ${costWords(call.cost)}`}</p>
      )}
      {call?.session !== undefined && <p><Link href={`/sessions/${call.session}`}>{t.toSessionBelow}</Link></p>}
      <details className='ran'>
        <summary>{t.asJson}</summary>
        <pre tabIndex={0} aria-label={t.asJson}><Revealed text={JSON.stringify(steps, null, 2)} /></pre>
      </details>
    </div>
  )
}

function Text ({ title, text }: { readonly title: string, readonly text: string }) {
  return <div className='ran'><header><span className='grow'>{title}</span></header><pre tabIndex={0} aria-label={title}><Revealed text={text} /></pre></div>
}

/** The lines of a child session, on the axis of the session above. Its first page is enough to see what it did. */
function ChildRows ({ id, ...placed }: Placed & { readonly id: string }) {
  const { query, lines } = useAudit(id, 0)
  if (query.error !== null) return <tr><td colSpan={6}><ErrorNote error={query.error} onRetry={() => { void query.refetch() }} /></td></tr>
  if (query.data === undefined) return <tr><td colSpan={6} className='quiet'>{t.loading}</td></tr>
  return (
    <>
      <LineRows lines={lines} {...placed} />
      {query.hasNextPage && <tr><td colSpan={6}><MoreButton onPress={() => { void query.fetchNextPage() }} /></td></tr>}
    </>
  )
}

/** In ms; `undefined` for what has not run, or runs. */
function tookOf ({ began, ended }: Call): number | undefined {
  return began === undefined || ended === undefined ? undefined : Math.max(0, ended - began)
}

/** Lets the user save a text as a file. */
function download (name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/jsonl' }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}
