import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Ran } from './talk-items.ts'

/** The largest length of an output that is shown at once, in UTF-16 units. A longer output is folded. */
const SHORT = 2000

/** Shows a command, or a call of a tool: its text, who allowed it, its result, and its output. */
export function RanBox ({ ran: { words, output, phase, exitCode, outcome, durationMs, allowedBy, deniedBy } }: { readonly ran: Ran }) {
  const isWrong = (exitCode !== undefined && exitCode !== 0) || outcome === 'failed' || outcome === 'refused'
  return (
    <div className='ran'>
      <header>
        <code className='grow'><Revealed text={words} /></code>
        {phase === 'ended' && <span className='chip'>{allowedBy === undefined ? t.ranUnasked : allowedBy === '' ? t.allowed : t.allowedBy(allowedBy)}</span>}
        {phase === 'refused' && <span className='chip bad'>{deniedBy ?? (allowedBy ? t.refusedBy(allowedBy) : t.refused)}</span>}
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

/** Shows the result of a command or a call: the exit code, or else a word for the outcome. */
function End ({ outcome, exitCode, isWrong }: {
  readonly outcome: string | undefined
  readonly exitCode: number | undefined
  readonly isWrong: boolean
}) {
  if (outcome === 'unknown') return <span className='chip warn'>{t.nobodyKnows}</span>
  const words = exitCode !== undefined ? t.exit(exitCode) : outcome === undefined ? undefined : t.outcome(outcome)
  return words === undefined ? null : <span className={isWrong ? 'chip bad' : 'chip good'}>{words}</span>
}
