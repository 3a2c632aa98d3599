import { type ReactNode, type RefObject, useEffect, useId, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, take } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { ErrorNote } from '../parts/error-note.tsx'
import { Icon } from '../parts/icons.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { oddities } from '../parts/oddities.ts'
import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { isShortcut, letterOf } from '../parts/writing.ts'
import { ruleInRussian } from '../text/rules-ru.ts'
import { language, t, withTexts } from '../text/text.ts'
import { type ApprovalReply, type Asked, asked, type Effect, jailOf, textOf } from './approval.ts'
import { CommandCount, CommandText } from './command-text.tsx'
import { DeliberateButton } from './deliberate-button.tsx'
import { type Card, useCard } from './use-card.ts'

const ChangeLook = lazyPart(async () => (await import('../sessions/plan/change-look.tsx')).ChangeLook)

const MoveOutcome = lazyPart(async () => (await withTexts('author', import('./move-facts.tsx'))).MoveOutcome)
const MoveFacts = lazyPart(async () => (await withTexts('author', import('./move-facts.tsx'))).MoveFacts)

/** Shows the facts about an action, then its text, then the field for the place, if the person has to type the place. */
function CardBody ({ card, id, isInSession }: { readonly card: Card, readonly id: string, readonly isInSession: boolean }) {
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
      {card.kind === 'move' && <MoveFacts effect={approval.effect} />}
      {card.kind === 'change' && <ChangeLook id={approval.session} digest={approval.digest} onLooked={setLooked} />}
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
      {card.isRejecting && <p className='note warn' role='alert'>{t.pressAgain(card.kind === 'command' ? t.skipCommand : t.reject)}</p>}
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

/** Asks the person a second time before the action runs. Its buttons are where no button was before, so that a double click does not press them. */
function SecondStep ({ card: { kind, edited, proposed, place, run, mayRun, closeSecond } }: { readonly card: Card }) {
  const no = useRef<HTMLButtonElement>(null)
  useEffect(() => { no.current?.focus() }, [])
  const words = kind === 'move' ? t.surelyMove : edited === undefined || edited === proposed ? t.surely : t.surelyEdited
  return (
    <div className='second' role='group' aria-label={words}>
      <span className='grow'>{words}</span>
      <KeyboardYes place={place} run={run} isOff={!mayRun} />
      <DeliberateButton className='button primary' disabled={!mayRun} onPress={run}>{kind === 'move' ? t.yesMove : t.yesRun}</DeliberateButton>
      <button
        ref={no}
        type='button'
        className='button'
        onClick={closeSecond}
      >
        {t.no}
      </button>
    </div>
  )
}

/** The field by which a person approves without a mouse: the person types the name of the place and presses Enter. No single key runs anything. */
function KeyboardYes ({ place, run, isOff }: { readonly place: string, readonly run: () => void, readonly isOff: boolean }) {
  const [typed, setTyped] = useState('')
  const press = (event: React.KeyboardEvent) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    if (typed === place && !isOff && !event.repeat) run()
  }
  const label = t.typeAndEnter(place)
  return (
    <input
      className='field mono'
      aria-label={label}
      placeholder={label}
      autoComplete='off'
      spellCheck={false}
      value={typed}
      onChange={event => { setTyped(event.target.value) }}
      onKeyDown={press}
    />
  )
}

/** Shows everything that a person has to know about an action that waits, except its text. */
function ApprovalFacts ({ approval, isInSession }: { readonly approval: Asked, readonly isInSession: boolean }) {
  const { effect, rule, digest } = approval
  return (
    <dl className='facts two'>
      {effect.target !== undefined && <Fact name={t.target}><TargetWords effect={effect} /></Fact>}
      {effect.terminal !== undefined && <Fact name={t.terminal}>{t.inThisShell}</Fact>}
      {effect.workspace !== undefined && <Fact name={t.workspace}><code>{effect.workspace}</code></Fact>}
      {effect.folder !== undefined && effect.folder !== '' && <Fact name={t.folder}><span className='mono'><Revealed text={effect.folder} /></span></Fact>}
      {effect.folderUnknown === true && <Fact name={t.folder}><b className='alarm'>{t.folderUnknown}</b></Fact>}
      {effect.kind === 'exec' && <Fact name={t.sandbox}>{boundsOf(effect)}</Fact>}
      {effect.checks?.[0] !== undefined && <Fact name={t.checks}><ChecksOf checks={effect.checks} /></Fact>}
      <Fact name={t.session}><SessionWords approval={approval} isInSession={isInSession} /></Fact>
      <Fact name={t.askedBecause}><Revealed text={inLanguage(rule)} />{effect.origin === 'fallback' && <b className='alarm'> {t.fallback}</b>}</Fact>
      <dt>{t.digest}</dt>
      <dd className='row'><code className='cut'>{digest.slice(0, 12)}…</code><CopyButton text={digest} label={t.copy} /></dd>
    </dl>
  )
}

function Fact ({ name, children }: { readonly name: string, readonly children: ReactNode }) {
  return <><dt>{name}</dt><dd className='wrap'>{children}</dd></>
}

function TargetWords ({ effect: { target, user, host, port } }: { readonly effect: Effect }) {
  if (host === undefined) return <><code>{target}</code>, {t.thisMachine}</>
  return <><code>{target}</code>, <code>{`${user === undefined ? '' : `${user}@`}${host}${port === undefined ? '' : `:${port}`}`}</code>, SSH</>
}

function ChecksOf ({ checks }: { readonly checks: NonNullable<Effect['checks']> }) {
  return (
    <>
      {checks.map(({ name, command }) => <div key={name} className='wrap'><b>{name}</b> <code><Revealed text={command} /></code></div>)}
      <span className='hint'>{t.checksRun}</span>
    </>
  )
}

/** What holds a command back, its user and its time limit, in words. */
function boundsOf ({ host, sandbox, network, timeoutMs }: Effect): string {
  const words = [jailOf({ isHere: host === undefined, sandbox, network }), ...host === undefined ? [t.asService] : []]
  return [...words, ...timeoutMs === undefined ? [] : [duration(timeoutMs)]].join(', ')
}

/** Shows which session asks. For a child session, the names of all sessions from the root down to it are shown. */
function SessionWords ({ approval: { path, owner, session, step, maxSteps }, isInSession }: { readonly approval: Asked, readonly isInSession: boolean }) {
  const mayRun = useMay('run')
  const name = path.join(' › ')
  const more = [owner === '' ? '' : t.ownedBy(owner), step === undefined ? '' : t.stepOf(String(step), String(maxSteps ?? step))].filter(word => word !== '')
  return <>{isInSession || !mayRun ? name : <Link href={`/sessions/${session}`}>{name}</Link>}{more.map(word => `, ${word}`)}</>
}

/** The reason why a person is asked, in the language of the console. */
function inLanguage (rule: string): string {
  return language === 'ru' ? ruleInRussian(rule) : rule
}

/** How many decided actions are remembered. */
const MOST_DECIDED = 3

/**
 * Shows a card for each action that waits for approval, in the order in which the cards were first shown, so that no card moves while the
 * user points at it. New cards are added below. On the page of approvals, the last `MOST_DECIDED` decided cards stay in their places; in a
 * session, its dialogue has what was decided, at its place in time.
 */
export function ApprovalQueue ({ approvals, isInSession = true, showAll = false, at }: {
  readonly approvals: readonly ApprovalReply[]
  /** The id of the approval whose card gets the focus. */
  readonly at?: string
  readonly isInSession?: boolean
  readonly showAll?: boolean
}) {
  const [shown, setShown] = useState<readonly Asked[]>([])
  const reading = useRef(new Set<string>())
  useEffect(() => {
    const now = new Map(approvals.map(approval => [approval.id, asked(approval)]))
    setShown(before => {
      const kept = before.map(approval => now.get(approval.id) ?? approval)
      const isNew = [...now.values()].filter(({ id }) => !before.some(approval => approval.id === id))
      return trimmed([...kept, ...isNew], now)
    })
  }, [approvals])
  useEffect(() => {
    for (const { id, decided } of shown) {
      if (isInSession || decided !== undefined || approvals.some(approval => approval.id === id) || reading.current.has(id)) continue
      // The action no longer waits: this user or somebody else has decided. The decision is read.
      reading.current.add(id)
      take(api.GET('/api/approvals/{id}', { params: { path: { id } } }))
        .then(reply => { setShown(before => before.map(approval => approval.id === id ? asked(reply) : approval)) })
        .catch(() => { setShown(before => before.filter(approval => approval.id !== id)) })
        .finally(() => { reading.current.delete(id) })
    }
  }, [shown, approvals, isInSession])
  const waiting = shown.filter(({ id, decided }) => decided === undefined && (!isInSession || approvals.some(approval => approval.id === id)))
  const first = showAll ? waiting : waiting.slice(0, 1)
  const refresh = () => {
    void queries.invalidateQueries({ queryKey: ['approvals'] })
    void queries.invalidateQueries({ queryKey: ['session'] })
  }
  return (
    <div className='stack queue'>
      {shown.filter(approval => first.includes(approval) || (!isInSession && approval.decided !== undefined)).map(approval => (
        <ApprovalCard
          key={`${approval.id}${approval.digest}`}
          approval={approval}
          before={before(approval, shown)}
          isInSession={isInSession}
          isLedTo={approval.id === at}
          onDecided={refresh}
        />
      ))}
      {waiting.length > first.length && <p className='quiet' role='status'>{t.moreWait(waiting.length - first.length)}</p>}
      <p className='unseen' role='alert'>{waiting.length > 0 ? t.somethingWaits : ''}</p>
    </div>
  )
}

/** The text of the action of the same kind that the session asked about before; `undefined` if its card is not shown any more. */
function before (approval: Asked, shown: readonly Asked[]): string | undefined {
  const isAlike = ({ session, effect }: Asked) => session === approval.session && effect.kind === approval.effect.kind
  const earlier = shown.slice(0, shown.indexOf(approval)).findLast(isAlike)
  return earlier === undefined ? undefined : textOf(earlier)
}

function trimmed (all: readonly Asked[], waiting: ReadonlyMap<string, Asked>): readonly Asked[] {
  const gone = all.filter(({ id }) => !waiting.has(id))
  const dropped = new Set(gone.slice(0, Math.max(0, gone.length - MOST_DECIDED)))
  return all.filter(approval => !dropped.has(approval))
}

/**
 * Shows an action that waits for a person's approval. The card shows the whole action. The action cannot be approved by accident, nor after
 * it has changed.
 */
function ApprovalCard ({ approval, before, isInSession, isLedTo, onDecided }: {
  readonly approval: Asked
  readonly before?: string | undefined
  readonly isInSession: boolean
  readonly isLedTo: boolean
  readonly onDecided: () => void
}) {
  const heading = useId()
  const section = useRef<HTMLElement>(null)
  const card = useCard(approval, onDecided, before)
  useLetters(card, section)
  useFocusBack(card.isAsked, section)
  useEffect(() => {
    // After the frame, which moves the focus to the top of a screen that was just opened.
    if (isLedTo) setTimeout(() => { section.current?.querySelector<HTMLElement>('header')?.focus() })
  }, [isLedTo])
  const { decided, isMine, outcome } = card.decision
  if (decided !== undefined) {
    return (
      <Decided decided={decided} text={decided.command ?? card.proposed} isMine={isMine}>
        {outcome !== undefined && <MoveOutcome effect={approval.effect} {...outcome} />}
      </Decided>
    )
  }
  return (
    <section className='card' ref={section} aria-labelledby={heading} onKeyDown={event => { if (event.key === 'Escape') card.closeAll() }}>
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

/** The buttons of the second step are gone when it closes, and the focus with them: it goes back to the card, whose keys then go on. */
function useFocusBack (isAsked: boolean, section: RefObject<HTMLElement | null>): void {
  const wasAsked = useRef(false)
  useEffect(() => {
    if (wasAsked.current && !isAsked && document.activeElement === document.body) section.current?.querySelector<HTMLElement>('header')?.focus()
    wasAsked.current = isAsked
  }, [isAsked, section])
}

/**
 * The letter keys of the card that has the focus: `a` opens the second step, `e` edits the command, `s` asks whether to reject the action,
 * and a second `s` rejects it. No single key decides anything.
 */
function useLetters (card: Card, section: RefObject<HTMLElement | null>): void {
  const latest = useRef(card)
  latest.current = card
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.repeat || !isShortcut(event) || section.current?.contains(document.activeElement) !== true) return
      const { mayRun, isAsked, isRejecting, mayApprove, kind, edited, proposed, openSecond, setEdited, setRejecting, decision } = latest.current
      if (decision.decided !== undefined) return
      const letter = letterOf(event)
      if (letter === 'a' && mayRun && !isAsked) openSecond()
      else if (letter === 'e' && kind === 'command' && mayApprove) setEdited(edited === undefined ? proposed : undefined)
      else if (letter === 's' && !decision.isBusy && !isRejecting) setRejecting(true)
      else if (letter === 's' && !decision.isBusy) void decision.reject()
      else return
      event.preventDefault()
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [section])
}

function titleOf ({ kind, place, approval }: Card): string {
  if (kind === 'command') return t.runCommandOn(place)
  if (kind === 'tool') return t.callTool(place)
  if (kind === 'commit') return t.commitIn(place)
  if (kind === 'move') return t.moveOf(place, approval.effect.prompt ?? '')
  return t.deletesFiles(approval.effect.change?.do?.actions.filter(action => action.kind.startsWith('DELETE')).length ?? 0)
}

/** Shows an action that was decided: the decision, who made it, and when. There are no buttons. */
function Decided ({ decided: { decision, by, at, reason }, text, isMine, children }: {
  readonly decided: NonNullable<ApprovalReply['decided']>
  readonly text: string
  readonly isMine: boolean
  readonly children: ReactNode
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
        {children}
        {reason !== undefined && <p className='hint'>{reason}</p>}
      </div>
    </section>
  )
}

/** The buttons of a card: to run the action on the left, to reject it on the right. They never move. */
function CardFooter ({ card, isInSession }: { readonly card: Card, readonly isInSession: boolean }) {
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
      {!mayApprove && <span className='quiet'>{card.isOwn ? t.waitsForOther : t.waitsForApprover}</span>}
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
    case 'move': return t.agreeToMove
  }
}
