import { useId } from 'react'
import { Icon } from '../parts/icons.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { type Asked } from './approval.ts'
import { CardBody } from './card-body.tsx'
import { CardFooter } from './card-footer.tsx'
import { Decided } from './decided.tsx'
import { type Card, useCard } from './use-card.ts'

/** The one card that lets something happen. It shows exactly what, and cannot be agreed to by accident, nor after it has changed. */
export function ApprovalCard ({ approval, isInSession, onDecided }: { readonly approval: Asked, readonly isInSession: boolean, readonly onDecided: () => void }) {
  const heading = useId()
  const card = useCard(approval, onDecided)
  const { decided, isMine } = card.decision
  if (decided !== undefined) return <Decided decided={decided} text={decided.command ?? card.proposed} isMine={isMine} />
  return (
    <section className='card' aria-labelledby={heading} onKeyDown={event => { if (event.key === 'Escape') card.closeSecond() }}>
      <header tabIndex={-1}>
        <Icon name='problems' />
        <h2 id={heading} className='grow'>{titleOf(card)}</h2>
        <span className='num since'>{t.askedAt} <When at={approval.askedAt} /> · {t.until} <When at={approval.expiresAt} /></span>
      </header>
      <CardBody card={card} id={heading} isInSession={isInSession} />
      <CardFooter card={card} isInSession={isInSession} />
    </section>
  )
}

function titleOf ({ kind, place, approval }: Card): string {
  if (kind === 'command') return t.runCommandOn(place)
  if (kind === 'tool') return t.callTool(place)
  return t.deletesFiles(approval.effect.change?.actions?.filter(action => action.kind.startsWith('DELETE')).length ?? 0)
}
