import { useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import { Link, useLocation } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, take, takePage } from '../api/client.ts'
import { Icon } from '../parts/icons.tsx'
import { countInTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'
import { openKeys } from './keys.tsx'
import { authorPlaces, type Place, useOpenPlaces, workPlaces } from './places.ts'

/** The rail: links to all screens that the caller may open, each with the number of things that wait there. */
export function Rail () {
  const author = useOpenPlaces(authorPlaces())
  const work = useOpenPlaces(workPlaces())
  const counts = useCounts()
  const [path] = useLocation()
  const waiting = (counts['/approvals']?.n ?? 0) + (counts['/sessions']?.n ?? 0)
  useEffect(() => { countInTitle(waiting) }, [waiting])
  return (
    <nav className='rail' aria-label={t.screens}>
      <div className='brand'><Icon name='brand' />ai-prompt-shell</div>
      {author.length > 0 && <h3>{t.author}</h3>}
      {author.map(place => <PlaceLink
        key={place.path}
        place={place}
        path={path}
        count={counts[place.path]}
                           />)}
      {work.length > 0 && <h3>{t.work}</h3>}
      {work.map(place => <PlaceLink
        key={place.path}
        place={place}
        path={path}
        count={counts[place.path]}
                         />)}
      <Link href='/more' className='first more' aria-current={path === '/more' ? 'page' : undefined}><Icon name='more' /><span>{t.more}</span></Link>
      <div className='foot'><button type='button' className='plain-text' onClick={openKeys}>{t.keys} <kbd>?</kbd></button></div>
    </nav>
  )
}

function PlaceLink ({ place: { path, name, icon, isFirst }, path: current, count }: {
  readonly place: Place
  readonly path: string
  readonly count: { readonly n: number, readonly tone: string } | undefined
}) {
  return (
    <Link href={path} className={isFirst ? 'first' : ''} aria-current={isWithin(current, path) ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{name}</span>
      {count !== undefined && count.n > 0 && <span className={`count ${count.tone}`}>{count.n}</span>}
    </Link>
  )
}

/** Whether the page at an address belongs to the link with this path. The page of a terminal belongs to the link to the targets. */
function isWithin (address: string, path: string): boolean {
  return address === path || address.startsWith(`${path}/`) || (path === '/targets' && address.startsWith('/terminals/'))
}

/** The time between two requests for what waits, and between two requests for the entries with mistakes, in ms. */
const [INTERVAL, INTERVAL_OF_PROBLEMS] = [5000, 15_000]

/** The numbers that the rail shows beside its links: entries with mistakes, sessions that wait for input, and actions that wait for approval. */
function useCounts (): Readonly<Record<string, { readonly n: number, readonly tone: string }>> {
  const mayRead = useMay('read')
  const mayRun = useMay('run')
  const mayApprove = useMay('approve')
  const problems = useQuery({ queryKey: ['registry', 'problems', 'count'], queryFn: countProblems, enabled: mayRead, refetchInterval: INTERVAL_OF_PROBLEMS })
  const waiting = useQuery({ queryKey: ['sessions', 'waiting'], queryFn: countWaiting, enabled: mayRun, refetchInterval: INTERVAL })
  const approvals = useQuery({ queryKey: ['approvals'], queryFn: listApprovals, enabled: mayApprove, refetchInterval: INTERVAL })
  return {
    '/problems': { n: problems.data ?? 0, tone: 'bad' },
    '/sessions': { n: waiting.data ?? 0, tone: 'warn' },
    '/approvals': { n: approvals.data?.length ?? 0, tone: 'warn' }
  }
}

async function countProblems (): Promise<number> {
  const { rows } = await takePage<{ readonly state: string, readonly diagnostics: ReadonlyArray<{ readonly severity: string }> }>(
    api.GET('/api/status/entries', { params: { query: { limit: 500 } } }))
  return rows.filter(({ state, diagnostics }) => state !== 'valid' && diagnostics.some(({ severity }) => severity === 'error')).length
}

async function countWaiting (): Promise<number> {
  return (await take(api.GET('/api/sessions', { params: { query: { status: 'waiting_input', limit: 100 } } }))).sessions.length
}

async function listApprovals () {
  return (await take(api.GET('/api/approvals', {}))).approvals
}
