import { useMemo } from 'react'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { type DiffLine, diffLines } from './diff-lines.ts'

/**
 * Shows a diff with signs, line numbers and marks on the changed words. Long lines are wrapped and never cut, and hidden characters are
 * made visible.
 */
export function Diff ({ diff, label }: { readonly diff: string, readonly label: string }) {
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
