import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { Users } from '../library/used-by.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { wordsOf } from '../prompts/releases/use-releases.ts'
import { meaningInWords } from '../prompts/releases/words.ts'
import { t } from '../text/text.ts'
import type { Effect } from './approval.ts'

/** What a person has to know about the move of a label, beside the diff: between which versions, with which tests, for whom, and whom it changes. */
export function MoveFacts ({ effect: { prompt = '', label = '', from, to, tests, looks, note } }: { readonly effect: Effect }) {
  const mayRead = useMay('read')
  return (
    <>
      <dl className='facts two'>
        <dt>{t.label}</dt>
        <dd className='wrap'>
          <span className='chip'>{label}</span>
          {' '}
          {mayRead ? <Link href={`/prompts/${encodeURIComponent(prompt)}?tab=releases`}><code>{prompt}</code></Link> : <code>{prompt}</code>}
        </dd>
        <dt>{t.version}</dt>
        <dd className='num'>{wordsOf(from)} → {wordsOf(to)}</dd>
        {tests !== undefined && <><dt>{t.tabTests}</dt><dd><span className='chip good'>{t.testsPassed(tests.passed)}</span></dd></>}
        {note !== undefined && <><dt>{t.note}</dt><dd className='wrap'><Revealed text={note} /></dd></>}
        {looks !== undefined && looks.of > 1 && <><dt>{t.by}</dt><dd>{looks.by.length} / {looks.of} {looks.by.join(', ')}</dd></>}
      </dl>
      {mayRead && <details><summary>{t.usedBy}</summary><Users kind='prompts' id={prompt} /></details>}
    </>
  )
}

/** What has become of a move that the person has agreed to. */
export function MoveOutcome ({ effect: { prompt = '', label = '', to, looks }, status, problem }: {
  readonly effect: Effect
  readonly status: string
  readonly problem: string | undefined
}) {
  const moved = to === null || to === undefined ? t.labelRemoved(label, prompt) : t.labelMoved(label, prompt, meaningInWords(to))
  const waits = t.requestWaits((looks?.by.length ?? 0) + 1, looks?.of ?? 1)
  return <p role='status'><Revealed text={status === 'completed' ? moved : problem === undefined ? waits : t.requestOver(problem)} /></p>
}
