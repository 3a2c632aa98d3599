import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Ran } from './talk-items.ts'

/** Characters of an output that are shown at once; the rest is behind a wish. */
const SHORT = 2000

/** What ran: the whole of it, who let it, what came of it, and what it printed. */
export function RanBox ({ ran: { words, output, phase, exitCode, outcome, durationMs, allowedBy } }: { readonly ran: Ran }) {
  const isWrong = (exitCode !== undefined && exitCode !== 0) || outcome === 'failed' || outcome === 'refused'
  return (
    <div className='ran'>
      <header>
        <code className='grow'><Revealed text={words} /></code>
        {phase === 'ended' && <span className='chip'>{allowedBy === undefined ? t.ranUnasked : allowedBy === '' ? t.allowed : t.allowedBy(allowedBy)}</span>}
        {phase === 'refused' && <span className='chip bad'>{allowedBy === undefined || allowedBy === '' ? t.refused : t.refusedBy(allowedBy)}</span>}
        {phase === 'proposed' && <span className='chip warn'>{t.proposed}</span>}
        <End outcome={outcome} exitCode={exitCode} isWrong={isWrong} />
        {durationMs !== undefined && <span className='quiet num'>{duration(durationMs)}</span>}
      </header>
      {output !== '' && (output.length <= SHORT
        ? <pre tabIndex={0} aria-label={t.output}><Revealed text={output} /></pre>
        : (
          <details>
            <summary>{t.outputOf(output.length)}</summary>
            <pre tabIndex={0} aria-label={t.output}><Revealed text={output} /></pre>
          </details>
          ))}
    </div>
  )
}

/** What came of it: the exit code of a command, else a word. */
function End ({ outcome, exitCode, isWrong }: {
  readonly outcome: string | undefined
  readonly exitCode: number | undefined
  readonly isWrong: boolean
}) {
  if (outcome === 'unknown') return <span className='chip warn'>{t.nobodyKnows}</span>
  const words = exitCode !== undefined ? t.exit(exitCode) : outcome === undefined ? undefined : t.outcome(outcome)
  return words === undefined ? null : <span className={isWrong ? 'chip bad' : 'chip good'}>{words}</span>
}
