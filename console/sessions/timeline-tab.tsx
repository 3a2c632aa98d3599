import { useInfiniteQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { sentenceOf, type Step } from './sentences.ts'

const PAGE = 1000

/** The audit of a session as sentences, in its own order: who did what, when; what it began is folded below. */
export function TimelineTab ({ id, count }: { readonly id: string, readonly count: number }) {
  const [q, setQ] = useState('')
  const [most, setMost] = useState(300)
  const query = useInfiniteQuery({
    queryKey: ['session', id, 'audit'],
    initialPageParam: 0,
    queryFn: async ({ pageParam }) => await take(api.GET('/api/sessions/{id}/audit', { params: { path: { id }, query: { after: pageParam, limit: PAGE } } })) as readonly Step[],
    getNextPageParam: last => last.length < PAGE ? undefined : last.at(-1)?.seq
  })
  const { refetch } = query
  useEffect(() => { if (count > 0) void refetch() }, [count, refetch])
  const steps = query.data?.pages.flat() ?? []
  const found = steps.map(step => ({ step, words: sentenceOf(step) })).filter(({ words }) => words.toLowerCase().includes(q.toLowerCase()))
  const save = () => {
    const link = document.createElement('a')
    link.href = URL.createObjectURL(new Blob([steps.map(step => JSON.stringify(step)).join('\n')], { type: 'application/jsonl' }))
    link.download = `${id}.jsonl`
    link.click()
    URL.revokeObjectURL(link.href)
  }
  return (
    <>
      <div className='filters'>
        <div className='filter'>
          <input
            className='field'
            aria-label={t.filterTimeline}
            placeholder={t.filterTimeline}
            value={q}
            onChange={event => { setQ(event.target.value) }}
          />
        </div>
        <span className='grow' />
        <button type='button' className='button' onClick={save}>{t.keepAsLines}</button>
      </div>
      {query.error !== null && <ErrorNote error={query.error} />}
      <ol className='talk'>
        {found.slice(0, most).map(({ step, words }) => (
          <li key={step.seq}>
            <When at={step.at} exact />
            <div>
              <p className='wrap'><Revealed text={words} /></p>
              {(step.begun.length > 0 || step.held.length > 0 || step.denied.length > 0) && <details className='ran'><summary>{t.begunHeldDenied(step.begun.length, step.held.length, step.denied.length)}</summary><pre tabIndex={0} aria-label={t.details}><Revealed text={JSON.stringify({ fact: step.fact, begun: step.begun, held: step.held, denied: step.denied }, null, 2)} /></pre></details>}
            </div>
          </li>
        ))}
      </ol>
      {(found.length > most || query.hasNextPage) && <button type='button' className='button' onClick={() => { setMost(most + 1000); if (query.hasNextPage) void query.fetchNextPage() }}>{t.showMore}</button>}
    </>
  )
}
