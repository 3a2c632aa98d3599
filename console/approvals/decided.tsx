import { Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { type ApprovalReply } from './approval.ts'

/** Shows an action that was decided: the decision, who made it, and when. There are no buttons. */
export function Decided ({ decided: { decision, by, at, reason }, text, isMine }: {
  readonly decided: NonNullable<ApprovalReply['decided']>
  readonly text: string
  readonly isMine: boolean
}) {
  return (
    <section className='panel' role='status'>
      <header>
        <span className={decision === 'approve' ? 'dot good' : 'dot'} />
        <h2>{by === '' ? t.decidedAt : t.decidedBy(by)} <When at={at} /></h2>
        <span className='grow' />
        <span className={decision === 'approve' ? 'chip good' : 'chip'}>{decision === 'approve' ? t.allowed : t.refused}</span>
        {!isMine && <span className='chip warn'>{t.notByYou}</span>}
      </header>
      <div className='body'>
        <code className='wrap'><Revealed text={text.slice(0, 4000)} /></code>
        {reason !== undefined && <p className='hint'>{reason}</p>}
      </div>
    </section>
  )
}
