import { useId, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icons.tsx'
import { oddities, Revealed } from '../parts/reveal.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { ApprovalFacts } from './approval-facts.tsx'
import { type Asked, isGrave, placeOf, textOf } from './approval.ts'
import { CommandCount, CommandText } from './command-text.tsx'
import { Decided } from './decided.tsx'
import { DeliberateButton } from './deliberate-button.tsx'
import { useDecision } from './use-decision.ts'
import { useReadiness } from './use-readiness.ts'

/** The one card that lets something happen. It shows exactly what, and cannot be agreed to by accident, nor after it has changed. */
export function ApprovalCard ({ approval, isInSession, onDecided }: { readonly approval: Asked, readonly isInSession: boolean, readonly onDecided: () => void }) {
  const mayApprove = useMay('approve')
  const heading = useId()
  const end = useRef<HTMLSpanElement>(null)
  const no = useRef<HTMLButtonElement>(null)
  const [edited, setEdited] = useState<string>()
  const [typed, setTyped] = useState('')
  const [isAsked, setAsked] = useState(false)
  const decision = useDecision(approval, onDecided)
  const proposed = textOf(approval)
  const text = edited ?? proposed
  const isReady = useReadiness(`${approval.digest}${edited ?? ''}`, end)
  const place = placeOf(approval)
  const grave = isGrave(approval) || oddities(text).hidden > 0 || oddities(text).mixed.length > 0
  const mixed = oddities(text).mixed
  const isCommand = approval.effect.kind === 'exec'
  const isChange = approval.effect.kind === 'apply'
  if (decision.decided !== undefined) return <Decided decided={decision.decided} text={decision.decided.command ?? proposed} isMine={decision.isMine} />

  const mayRun = mayApprove && !isChange && isReady && !decision.isBusy && (!grave || typed === place) && text.trim() !== ''
  const open = () => {
    setAsked(true)
    requestAnimationFrame(() => { no.current?.focus() })
  }
  const run = () => {
    setAsked(false)
    void decision.approve(edited === undefined || edited === proposed ? undefined : edited)
  }
  return (
    <section className='card' aria-labelledby={heading} onKeyDown={event => { if (event.key === 'Escape') setAsked(false) }}>
      <header id={heading} tabIndex={-1}><Icon name='problems' /><span className='grow'>{isCommand ? t.runCommandOn(place) : isChange ? t.deletesFiles(approval.effect.change?.actions?.filter(({ kind }) => kind.startsWith('DELETE')).length ?? 0) : t.callTool(place)}</span><span className='num since'>{t.askedAt} <When at={approval.askedAt} /> · {t.until} <When at={approval.expiresAt} /></span></header>
      <div className='body'>
        <ApprovalFacts approval={approval} isInSession={isInSession} />
        {approval.lastOutput !== undefined && !isInSession && <details className='ran'><summary>{t.lastOutput}</summary><pre tabIndex={0} aria-label={t.lastOutput}><Revealed text={approval.lastOutput} /></pre></details>}
        {edited !== undefined && <textarea className='field mono' rows={3} aria-label={t.editCommand} spellCheck={false} value={edited} onChange={event => { setEdited(event.target.value); setAsked(false) }} />}
        <CommandText text={text} id={`${heading}-count`} endRef={end} />
        {mixed.length > 0 && <div className='note bad'><Icon name='problems' /><span><b>{t.mixedTitle}</b> {mixed.slice(0, 5).join(', ')}</span></div>}
        <div className='row wrap-row'>
          <CommandCount text={text} id={`${heading}-count`} />
          <CopyButton text={text} label={t.copyRaw} />
          <span className='grow' />
          {mayApprove && !isChange && grave && <label className='row typed'>{t.typeToConfirm} <code>{place}</code><input className='field mono' autoComplete='off' spellCheck={false} value={typed} onChange={event => { setTyped(event.target.value) }} /></label>}
        </div>
        {decision.doubt && <p className='note warn' role='alert'>{t.notKnownWhether} <button type='button' className='button small' onClick={() => { void decision.readAgain() }}>{t.readAgain}</button></p>}
        {decision.error !== undefined && <ErrorNote error={decision.error} />}
        {isAsked && (
          <div className='second' role='group' aria-label={t.surely}>
            <span className='grow'>{edited === undefined || edited === proposed ? t.surely : t.surelyEdited}</span>
            <KeyboardYes place={place} run={run} isOff={!mayRun} />
            <DeliberateButton className='button primary' disabled={!mayRun} onPress={run}>{t.yesRun}</DeliberateButton>
            <button ref={no} type='button' className='button' onClick={() => { setAsked(false) }}>{t.no}</button>
          </div>
        )}
      </div>
      <footer>
        {mayApprove && !isChange && <DeliberateButton className='button primary' disabled={!mayRun || isAsked} onPress={open}>{isCommand ? t.runOn(place) : t.callIt}</DeliberateButton>}
        {mayApprove && !isChange && <button type='button' className='button plain small by-key' disabled={!mayRun || isAsked} onClick={open}>{t.byKeys}</button>}
        {isChange && !isInSession && <Link className='button primary' href={`/sessions/${approval.session}`}>{t.lookAtChange}</Link>}
        {isCommand && mayApprove && <button type='button' className='button' onClick={() => { setEdited(edited === undefined ? proposed : undefined); setAsked(false) }}>{edited === undefined ? t.edit : t.asProposed}</button>}
        {!mayApprove && <span className='quiet'>{t.waitsForApprover}</span>}
        <span className='grow' />
        <button type='button' className='button danger' disabled={decision.isBusy} onClick={() => { void decision.reject() }}>{isCommand ? t.skipCommand : t.reject}</button>
      </footer>
    </section>
  )
}

/** The way without a pointer: no single key runs anything, the place's name does. */
function KeyboardYes ({ place, run, isOff }: { readonly place: string, readonly run: () => void, readonly isOff: boolean }) {
  const [typed, setTyped] = useState('')
  return <input className='field mono' aria-label={t.typeAndEnter(place)} placeholder={t.typeAndEnter(place)} autoComplete='off' spellCheck={false} value={typed} onChange={event => { setTyped(event.target.value) }} onKeyDown={event => { if (event.key === 'Enter') { event.preventDefault(); if (typed === place && !isOff && !event.repeat) run() } }} />
}
