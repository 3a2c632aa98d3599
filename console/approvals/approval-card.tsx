import { type RefObject, useEffect, useId, useRef } from 'react'
import { isWriting } from '../parts/writing.ts'
import { Icon } from '../parts/icons.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { type Asked } from './approval.ts'
import { CardBody } from './card-body.tsx'
import { CardFooter } from './card-footer.tsx'
import { Decided } from './decided.tsx'
import { type Card, useCard } from './use-card.ts'

export interface ApprovalCardProps {
  readonly approval: Asked
  /** The text that the session asked about before, if the card of that question is still shown. */
  readonly before?: string | undefined
  readonly isInSession: boolean
  /** Whether the letter keys act on this card while no card has the focus. */
  readonly isFirst: boolean
  readonly onDecided: () => void
}

/**
 * Shows an action that waits for a person's approval. The card shows the whole action. The action cannot be approved by accident, nor after
 * it has changed.
 */
export function ApprovalCard ({ approval, before, isInSession, isFirst, onDecided }: ApprovalCardProps) {
  const heading = useId()
  const section = useRef<HTMLElement>(null)
  const card = useCard(approval, onDecided, before)
  useLetters(card, section, isFirst)
  const { decided, isMine } = card.decision
  if (decided !== undefined) return <Decided decided={decided} text={decided.command ?? card.proposed} isMine={isMine} />
  return (
    <section className='card' ref={section} aria-labelledby={heading} onKeyDown={event => { if (event.key === 'Escape') card.closeSecond() }}>
      <header tabIndex={-1} data-row>
        <Icon name='problems' />
        <h2 id={heading} className='grow'>{titleOf(card)}</h2>
        <span className='num since'>{t.askedAt} <When at={approval.askedAt} /> · {t.until} <When at={approval.expiresAt} /></span>
      </header>
      <CardBody card={card} id={heading} isInSession={isInSession} />
      <CardFooter card={card} isInSession={isInSession} />
    </section>
  )
}

/** The letter keys of a card: `a` opens the second step, `e` edits the command, `s` rejects the action. No single key runs anything. */
function useLetters (card: Card, section: RefObject<HTMLElement | null>, isFirst: boolean): void {
  const latest = useRef(card)
  latest.current = card
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isWriting(event.target) || !isMeant(section.current, isFirst)) return
      const { mayRun, isAsked, mayApprove, kind, edited, proposed, openSecond, setEdited, decision } = latest.current
      if (decision.decided !== undefined) return
      if (event.key === 'a' && mayRun && !isAsked) openSecond()
      else if (event.key === 'e' && kind === 'command' && mayApprove) setEdited(edited === undefined ? proposed : undefined)
      else if (event.key === 's' && !decision.isBusy) void decision.reject()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [section, isFirst])
}

/** Whether a pressed key acts on this card: the card has the focus, or it is the first one and no card has the focus. */
function isMeant (section: HTMLElement | null, isFirst: boolean): boolean {
  const { activeElement } = document
  return section?.contains(activeElement) === true || (isFirst && activeElement?.closest('.card') === null)
}

function titleOf ({ kind, place, approval }: Card): string {
  if (kind === 'command') return t.runCommandOn(place)
  if (kind === 'tool') return t.callTool(place)
  if (kind === 'commit') return t.commitIn(place)
  return t.deletesFiles(approval.effect.change?.do?.actions.filter(action => action.kind.startsWith('DELETE')).length ?? 0)
}
