import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { api, take } from '../api/client.ts'
import { download } from '../parts/downloads.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Filters } from '../parts/filters.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { sentencesOf, type Step } from './sentences.ts'

/** The number of steps that one request asks for, and the number of steps that are shown at first. */
const PAGE = 1000
const ROWS = 200

/**
 * The tab with the audit of a session, a sentence for each step in the order of time: who did what, and when. The effects of a step are
 * folded below its sentence.
 */
export function TimelineTab ({ id, count }: { readonly id: string, readonly count: number }) {
  const [q, setQ] = useState('')
  const [most, setMost] = useState(ROWS)
  const query = useInfiniteQuery({
    queryKey: ['session', id, 'audit'],
    initialPageParam: 0,
    queryFn: async ({ pageParam }) => {
      const wish = { params: { path: { id }, query: { after: pageParam, limit: PAGE } } }
      return await take(api.GET('/api/sessions/{id}/audit', wish)) as readonly Step[]
    },
    getNextPageParam: last => last.length < PAGE ? undefined : last.at(-1)?.seq
  })
  const { refetch } = query
  useEffect(() => { if (count > 0) void refetch() }, [count, refetch])
  const steps = useMemo(() => query.data?.pages.flat() ?? [], [query.data])
  const told = useMemo(() => sentencesOf(steps).map((words, index) => ({ step: steps[index] as Step, words })), [steps])
  const found = q === '' ? told : told.filter(({ words }) => words.toLowerCase().includes(q.toLowerCase()))
  const save = () => { download(`${id}.jsonl`, 'application/jsonl', steps.map(step => JSON.stringify(step)).join('\n')) }
  const more = () => {
    setMost(most + PAGE)
    if (query.hasNextPage) void query.fetchNextPage()
  }
  return (
    <>
      <Filters label={t.filterTimeline} value={q} onChange={setQ}>
        <button type='button' className='button' onClick={save}>{t.keepAsLines}</button>
      </Filters>
      {query.error !== null && <ErrorNote error={query.error} />}
      <ol className='talk'>
        {found.slice(0, most).map(({ step, words }) => (
          <li key={step.seq}>
            <When at={step.at} exact />
            <div>
              <p className='wrap'><Revealed text={words} /></p>
              <Begun step={step} />
            </div>
          </li>
        ))}
      </ol>
      {(found.length > most || query.hasNextPage) && <MoreButton onPress={more} />}
    </>
  )
}

/** Shows the effects that a step began, held back for approval, and denied, folded. */
function Begun ({ step: { fact, begun, held, denied } }: { readonly step: Step }) {
  const [isOpen, setOpen] = useState(false)
  if (begun.length + held.length + denied.length === 0) return null
  return (
    <details className='ran' onToggle={event => { setOpen(event.currentTarget.open) }}>
      <summary>{t.begunHeldDenied(begun.length, held.length, denied.length)}</summary>
      {isOpen && <pre tabIndex={0} aria-label={t.details}><Revealed text={JSON.stringify({ fact, begun, held, denied }, null, 2)} /></pre>}
    </details>
  )
}
