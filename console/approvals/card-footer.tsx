import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { t } from '../text/text.ts'
import { DeliberateButton } from './deliberate-button.tsx'
import { type Card } from './use-card.ts'

/** The buttons of a card: to run the action on the left, to reject it on the right. They never move. */
export function CardFooter ({ card, isInSession }: { readonly card: Card, readonly isInSession: boolean }) {
  const mayRun = useMay('run')
  const { kind, mayApprove, approval, decision, edited, setEdited, proposed } = card
  return (
    <footer>
      {mayApprove && <RunButtons card={card} />}
      {kind === 'change' && !isInSession && mayRun && <Link className='button' href={`/sessions/${approval.session}`}>{t.lookAtChange}</Link>}
      {kind === 'command' && mayApprove && (
        <button type='button' className='button' onClick={() => { setEdited(edited === undefined ? proposed : undefined) }}>
          {edited === undefined ? t.edit : t.asProposed}
        </button>
      )}
      {!mayApprove && <span className='quiet'>{t.waitsForApprover}</span>}
      <span className='grow' />
      <button type='button' className='button danger' disabled={decision.isBusy} onClick={() => { void decision.reject() }}>
        {kind === 'command' ? t.skipCommand : t.reject}
      </button>
    </footer>
  )
}

function RunButtons ({ card: { kind, place, mayRun, isAsked, openSecond } }: { readonly card: Card }) {
  const isOff = !mayRun || isAsked
  return (
    <>
      <DeliberateButton className='button primary' disabled={isOff} onPress={openSecond}>
        {agreeTo(kind, place)}
      </DeliberateButton>
      <button type='button' className='button plain small' disabled={isOff} onClick={openSecond}>{t.byKeys}</button>
    </>
  )
}

function agreeTo (kind: Card['kind'], place: string): string {
  switch (kind) {
    case 'command': return t.runOn(place)
    case 'tool': return t.callIt
    case 'change': return t.changeIt(place)
    case 'commit': return t.commitIt
  }
}
