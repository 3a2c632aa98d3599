import { useQuery } from '@tanstack/react-query'
import { lazy, Suspense, useMemo, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { bytes } from '../../parts/time.ts'
import { t } from '../../text/text.ts'
import { type DiffLine, diffLines } from './diff-lines.ts'
import type { ChangedFile } from './use-plan.ts'

const Difference = lazy(async () => ({ default: (await import('../../edit/difference.tsx')).Difference }))

/** Shows the change of one file as a diff or, if the user asks for it, as two texts side by side. A note says if something could not be shown. */
export function FileDiff ({ id, file, isSeen, onSeen }: {
  readonly id: string
  readonly file: ChangedFile
  readonly isSeen: boolean
  readonly onSeen: () => void
}) {
  const [isWide, setWide] = useState(false)
  const { path, diff, isCut, isOutdated, kind } = file
  return (
    <section className='panel'>
      <header>
        <span className='mono grow wrap'>{path}</span>
        <span className='chip'>{t.changeKind(kind)}</span>
        <span className='quiet num'>{bytes(file.bytes)}</span>
        <button
          type='button'
          className='button small'
          aria-pressed={isWide}
          onClick={() => { setWide(!isWide) }}
        >
          {t.sideBySide}
        </button>
        <button
          type='button'
          className='button small'
          disabled={isSeen}
          onClick={onSeen}
        >
          {t.seenMark}
        </button>
      </header>
      {isOutdated === true && <p className='note warn'>{t.fileOutdated}</p>}
      {isCut === true && !isWide && <p className='note warn'>{t.diffCut}</p>}
      {isWide ? <Sides id={id} path={path} /> : diff === '' ? <p className='body quiet'>{t.noDiff}</p> : <Diff diff={diff} label={path} />}
    </section>
  )
}

function Sides ({ id, path }: { readonly id: string, readonly path: string }) {
  const read = async (side: 'before' | 'after') => await take(api.GET('/api/plans/{id}/preview', { params: { path: { id }, query: { path, side } } })) as {
    readonly text?: string
    readonly isCut?: boolean
  }
  const query = useQuery({ queryKey: ['plan', id, 'sides', path], queryFn: async () => await Promise.all([read('before'), read('after')]) })
  if (query.error !== null) return <ErrorNote error={query.error} />
  if (query.data === undefined) return <p className='body quiet'>{t.loading}</p>
  const [before, after] = query.data
  return (
    <>
      {(before.isCut === true || after.isCut === true) && <p className='note warn'>{t.sideCut}</p>}
      <Suspense><Difference before={before.text ?? ''} after={after.text ?? ''} labels={[t.before, t.after]} /></Suspense>
    </>
  )
}

/**
 * Shows a diff with signs, line numbers and marks on the changed words. Long lines are wrapped and never cut, and hidden characters are
 * made visible.
 */
function Diff ({ diff, label }: { readonly diff: string, readonly label: string }) {
  const lines = useMemo(() => diffLines(diff), [diff])
  return (
    <div
      className='diff'
      tabIndex={0}
      role='region'
      aria-label={label}
    >
      {lines.map((line, index) => line.kind === 'hunk'
        ? <div key={index} className='hunk'><i /><span>{line.text === '' ? '…' : line.text}</span></div>
        : (
          <div key={index} className={line.kind === 'same' ? undefined : line.kind}>
            <i>{line.before}</i>
            <i>{line.after}</i>
            <b aria-label={line.kind === 'add' ? t.added : line.kind === 'del' ? t.removed : undefined} role={line.kind === 'same' ? undefined : 'img'}>
              {line.kind === 'add' ? '+' : line.kind === 'del' ? '−' : ''}
            </b>
            <span><Words line={line} /></span>
          </div>
          ))}
    </div>
  )
}

function Words ({ line: { kind, text, mark } }: { readonly line: DiffLine }) {
  if (mark === undefined || mark.from >= mark.to) return <Revealed text={text} />
  const Changed = kind === 'add' ? 'ins' : 'del'
  return (
    <>
      <Revealed text={text.slice(0, mark.from)} />
      <Changed><mark><Revealed text={text.slice(mark.from, mark.to)} /></mark></Changed>
      <Revealed text={text.slice(mark.to)} />
    </>
  )
}
