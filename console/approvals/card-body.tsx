import { lazy, Suspense } from 'react'
import { workScreens } from '../frame/parts.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icons.tsx'
import { oddities } from '../parts/oddities.ts'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { ApprovalFacts } from './approval-facts.tsx'
import { CommandCount, CommandText } from './command-text.tsx'
import { SecondStep } from './second-step.tsx'
import { type Card } from './use-card.ts'

const ChangeLook = lazy(async () => ({ default: (await workScreens()).ChangeLook }))

/** Shows the facts about an action, then its text, then the field for the place, if the person has to type the place. */
export function CardBody ({ card, id, isInSession }: { readonly card: Card, readonly id: string, readonly isInSession: boolean }) {
  const { approval, text, edited, marks, proposed, setEdited, setLooked, decision } = card
  return (
    <div className='body'>
      <ApprovalFacts approval={approval} isInSession={isInSession} />
      {approval.lastOutput !== undefined && !isInSession && <LastOutput text={approval.lastOutput} />}
      {edited !== undefined && (
        <textarea
          className='field mono'
          rows={3}
          aria-label={t.editCommand}
          spellCheck={false}
          value={edited}
          onChange={event => { setEdited(event.target.value) }}
        />
      )}
      {card.kind === 'change' && <Suspense><ChangeLook id={approval.session} digest={approval.digest} onLooked={setLooked} /></Suspense>}
      <CommandText text={text} id={`${id}-count`} marks={marks} endRef={card.end} />
      {marks.length > 0 && edited === undefined && <p className='hint'>{t.markedDiffers}</p>}
      {edited !== undefined && edited !== proposed && <p className='hint wrap'>{t.wasProposed} <code><Revealed text={proposed} /></code></p>}
      <Mixed text={text} />
      <div className='row wrap-row'>
        <CommandCount text={text} id={`${id}-count`} />
        <CopyButton text={text} label={t.copyRaw} />
        <span className='grow' />
        {card.mayApprove && card.isGrave && <TypedPlace card={card} />}
      </div>
      {decision.doubt && (
        <p className='note warn' role='alert'>
          {t.notKnownWhether} <button type='button' className='button small' onClick={() => { void decision.readAgain() }}>{t.readAgain}</button>
        </p>
      )}
      {decision.error !== undefined && <ErrorNote error={decision.error} />}
      {card.isAsked && <SecondStep card={card} />}
    </div>
  )
}

function LastOutput ({ text }: { readonly text: string }) {
  return <details className='ran'><summary>{t.lastOutput}</summary><pre tabIndex={0} aria-label={t.lastOutput}><Revealed text={text} /></pre></details>
}

function Mixed ({ text }: { readonly text: string }) {
  const { mixed } = oddities(text)
  return mixed.length === 0
    ? null
    : (
      <div className='note bad'>
        <Icon name='problems' />
        <span className='wrap'><b>{t.mixedTitle}</b> {mixed.slice(0, 5).join(', ')}</span>
      </div>
      )
}

function TypedPlace ({ card: { place, typed, setTyped } }: { readonly card: Card }) {
  return (
    <label className='row typed'>
      {t.typeToConfirm}
      {' '}
      <code>{place}</code>
      <input
        className='field mono'
        autoComplete='off'
        spellCheck={false}
        value={typed}
        onChange={event => { setTyped(event.target.value) }}
      />
    </label>
  )
}
