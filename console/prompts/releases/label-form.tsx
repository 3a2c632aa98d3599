import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import { useCaller, useMay } from '../../api/caller.ts'
import { useUsers } from '../../library/used-by.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { TextField, TypedName } from '../../parts/fields.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { CaseList, Summary } from '../tests/case-list.tsx'
import { hasPassed, useRuns, useTests } from '../tests/use-tests.ts'
import type { Workpiece } from '../use-draft.ts'
import { moveLabel } from './changes.ts'
import { Sides } from './compare-tab.tsx'
import { brokenWithout, countPrompts, heaviest, meaningOf, splitMeaning } from './meaning.ts'
import type { Meaning, Releases } from './use-releases.ts'
import { ago, meaningInWords, moveInWords } from './words.ts'

/** What somebody is about to do with a label. A new one has no name yet. */
export interface Plan {
  readonly kind: 'new' | 'move' | 'back' | 'remove'
  readonly label: string
}

const NAME = /^[a-z][a-z0-9_-]{0,63}$/

/**
 * The form that changes what a label means. It says what would become of whom before anything is sent, and sends nothing after somebody
 * else has moved the label: then it says who, and asks anew.
 */
export function LabelForm ({ id, piece, plan: { kind, label: given }, releases, onClose }: {
  readonly id: string
  readonly piece: Workpiece
  readonly plan: Plan
  readonly releases: Releases
  readonly onClose: () => void
}) {
  const [label, setLabel] = useState(given)
  const [seen, setSeen] = useState(() => meaningOf(releases, given))
  // Once the label has gone back, going back would lead to what was left.
  const [back, setBack] = useState(releases.before[given])
  const [isSent, setSent] = useState(false)
  const [choice, setChoice] = useState(() => firstChoice(releases, seen))
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => { heading.current?.focus() }, [])
  const now = meaningOf(releases, label)
  const isTaken = kind !== 'new' && !isSame(now, seen)
  const target = targetOf(kind, choice, isSame(now, back) ? back : releases.before[label])
  if (!isSame(now, seen) && isThere(now, target) && (kind !== 'new' || isSent)) return <Done label={label} now={now} onClose={onClose} />
  const problem = kind === 'new' ? mistakeInName(label, releases) : undefined
  return (
    <section className='panel' aria-labelledby='plan'>
      <header>
        <h2 id='plan' ref={heading} tabIndex={-1}>{titleOf({ kind, label })}</h2>
        {releases.protected.includes(label) && <span className='chip warn'>{t.protected}</span>}
      </header>
      <div className='body stack'>
        {kind === 'new' && (
          <div className='narrow'>
            <TextField id='label' label={t.label} isMono most={64} value={label} onChange={setLabel} />
            {problem !== undefined && label !== '' && <p className='hint bad' role='status'>{problem}</p>}
          </div>
        )}
        {(kind === 'new' || kind === 'move') && <Choices releases={releases} choice={choice} isSplit={kind === 'move'} onChange={setChoice} />}
        {isTaken && <Taken label={label} releases={releases} seen={seen} onGoOn={() => { setSeen(now); setBack(releases.before[label]) }} />}
        {problem === undefined && <WouldBe id={id} piece={piece} label={label} from={now} to={target} isBack={kind === 'back'} releases={releases} />}
        {typeof target === 'number' && <VersionTests id={id} version={target} />}
        <Confirmation
          plan={{ kind, label }}
          target={target}
          isReady={problem === undefined && !isTaken && isWholePercent(choice.share) && !isSame(target, now)}
          isProtected={releases.protected.includes(label)}
          look={releases.looks[label]}
          send={async about => {
            setSent(true)
            return await moveLabel(id, label, kind === 'new' ? undefined : seen, target, about)
          }}
          onClose={onClose}
        />
      </div>
    </section>
  )
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const isWholePercent = (text: string): boolean => /^(?:100|\d{1,2})$/.test(text)

function titleOf ({ kind, label }: Plan): string {
  return { new: () => t.newLabel, move: t.moveLabelOf, back: t.rollBackOf, remove: t.removeLabelOf }[kind](label)
}

/** What the label would mean; `undefined` for one that would be gone. */
function targetOf (kind: Plan['kind'], { to, share, rest }: Choice, back: Meaning | undefined): Meaning | 'latest' | undefined {
  if (kind === 'remove') return undefined
  if (kind === 'new') return to
  return kind === 'back' ? back : splitMeaning(to, Number(share), rest)
}

/** Whether a label means what was wanted: perhaps that was sent from here, and only the reply was lost. */
const isThere = (now: Meaning | undefined, wanted: Meaning | 'latest' | undefined): boolean => wanted === 'latest' || isSame(now, wanted)

/** Shown in place of the form once the label means what was wanted. */
function Done ({ label, now, onClose }: { readonly label: string, readonly now: Meaning | undefined, readonly onClose: () => void }) {
  return (
    <p className='note' role='status'>
      <span className='grow wrap'>{now === undefined ? t.labelIsGone(label) : t.labelIsThere(label, meaningInWords(now))}</span>
      <button type='button' className='button small' onClick={onClose}>{t.close}</button>
    </p>
  )
}

function mistakeInName (label: string, releases: Releases): string | undefined {
  if (meaningOf(releases, label) !== undefined) return t.labelExists
  return NAME.test(label) && label !== 'latest' ? undefined : t.labelName
}

/** The note, the name of a protected label, and the button that sends the change. Going back asks for no name: it is for haste. */
function Confirmation ({ plan, target, isReady, isProtected, look, send, onClose }: {
  readonly plan: Plan
  readonly target: Meaning | 'latest' | undefined
  readonly isReady: boolean
  readonly isProtected: boolean
  /** What others have to see to before the label moves; `undefined` for one that moves at once. */
  readonly look: Releases['looks'][string] | undefined
  /** Gives false if nothing was done since the label means something else by now. */
  readonly send: (about: NonNullable<Parameters<typeof moveLabel>[4]>) => Promise<boolean>
  readonly onClose: () => void
}) {
  const { kind, label } = plan
  const [note, setNote] = useState('')
  const [override, setOverride] = useState('')
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const caller = useCaller()
  const mayMove = !isProtected || caller?.roles.includes('admin') === true || caller?.labels?.includes(label) === true
  const asksName = isProtected && kind !== 'back'
  const act = async () => {
    setBusy(true)
    setError(undefined)
    try {
      if (await send({ note: note.trim() || undefined, override: override.trim() || undefined })) onClose()
      else setTyped('')
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  if (!mayMove) return <p className='note warn'>{t.protectedFor(label)}</p>
  return (
    <form className='stack narrow' onSubmit={event => { event.preventDefault(); void act() }}>
      {kind !== 'remove' && <TextField id='note' label={t.note} most={500} value={note} onChange={setNote} />}
      {look !== undefined && <LookNeeded label={label} look={look} override={override} setOverride={setOverride} />}
      {asksName && <TypedName name={label} value={typed} onChange={setTyped} />}
      {error !== undefined && <ErrorNote error={error} />}
      <div className='row wrap-row'>
        <button className={kind === 'remove' ? 'button danger' : 'button primary'} disabled={!isReady || isBusy || (asksName && typed !== label)}>
          {look !== undefined && override.trim() === '' ? t.askForLook : actOf(plan, target)}
        </button>
        <button type='button' className='button plain' onClick={onClose}>{t.cancel}</button>
      </div>
    </form>
  )
}

function actOf (plan: Plan, target: Meaning | 'latest' | undefined): string {
  return plan.kind === 'move' && target !== undefined ? t.moveTo(meaningInWords(target)) : titleOf(plan)
}

/** Says that others look first; an admin may give a reason not to ask them. */
function LookNeeded ({ label, look: { tests, approvals }, override, setOverride }: {
  readonly label: string
  readonly look: Releases['looks'][string]
  readonly override: string
  readonly setOverride: (reason: string) => void
}) {
  const mayOverride = useMay('admin')
  return (
    <>
      <p className='note'>{t.lookNeeded(label, tests, approvals)}</p>
      {mayOverride && <TextField id='override' label={t.overrideBecause} most={500} value={override} onChange={setOverride} />}
    </>
  )
}

/** Which version callers of a label get, and of a split one, how many of them, in percent as it is typed, and what the rest gets. */
interface Choice {
  readonly to: number | 'latest'
  readonly share: string
  readonly rest: number | undefined
}

/** A label that is split is shown as it is; any other gets what is served without a label. */
function firstChoice ({ versions, latest }: Releases, seen: Meaning | undefined): Choice {
  if (typeof seen === 'object') {
    const [first, second] = [...seen].sort((a, b) => b.version - a.version)
    return { to: first?.version ?? 'latest', share: String(first?.weight ?? 100), rest: second?.version }
  }
  return { to: latest ?? 'latest', share: '100', rest: [seen, ...versions.map(({ n }) => n)].find(n => n !== undefined && n !== latest) }
}

function Choices ({ releases: { versions, latest }, choice, isSplit, onChange }: {
  readonly releases: Releases
  readonly choice: Choice
  readonly isSplit: boolean
  readonly onChange: (choice: Choice) => void
}) {
  const { to, share, rest } = choice
  const others = versions.filter(({ n }) => n !== to)
  const other = others.some(({ n }) => n === rest) ? rest : others[0]?.n
  const set = (changed: Partial<Choice>) => {
    const next = { ...choice, rest: other, ...changed }
    onChange(next.rest === next.to ? { ...next, rest: versions.find(({ n }) => n !== next.to)?.n } : next)
  }
  const percent = Number(share)
  return (
    <>
      <div className='form narrow'>
        <div>
          <label htmlFor='to'>{t.to}</label>
          <select
            id='to'
            className='field num'
            value={to}
            onChange={({ target: { value } }) => { set({ to: value === 'latest' ? value : Number(value) }) }}
          >
            {latest === undefined && <option value='latest'>{t.latestBecomes}</option>}
            {optionsOf(versions)}
          </select>
        </div>
        {isSplit && to !== 'latest' && other !== undefined && (
          <div>
            <label htmlFor='rest'>{t.rest}</label>
            <select id='rest' className='field num' value={other} onChange={event => { set({ rest: Number(event.target.value) }) }}>
              {optionsOf(others)}
            </select>
          </div>
        )}
      </div>
      {isSplit && to !== 'latest' && other !== undefined && (
        <div className='narrow'>
          <label htmlFor='share'>{t.share}</label>
          <div className='row'>
            <input
              type='range'
              className='grow'
              aria-label={t.share}
              min={0}
              max={100}
              value={percent}
              onChange={event => { set({ share: event.target.value }) }}
            />
            <input
              id='share'
              type='number'
              className='field num auto'
              min={0}
              max={100}
              required
              value={share}
              onChange={event => { set({ share: event.target.value }) }}
            />
          </div>
          <p className='hint' role='status'>
            {percent === 100 && t.shareAll(meaningInWords(to))}
            {percent === 0 && t.shareNone(meaningInWords(to), meaningInWords(other))}
            {percent > 0 && percent < 100 && t.shareSome(percent, meaningInWords(to), 100 - percent, meaningInWords(other))}
          </p>
        </div>
      )}
    </>
  )
}

/** The page of a prompt, or of a label of it: `review.short@production`. */
function pageOf (id: string): string {
  return `/prompts/${encodeURIComponent(id.split('@')[0] ?? id)}`
}

function optionsOf (versions: Releases['versions']): ReactNode {
  return versions.map(({ n, note }) => <option key={n} value={n}>{n}{note !== undefined && ` · ${note.slice(0, 40)}`}</option>)
}

interface Change {
  readonly id: string
  readonly piece: Workpiece
  readonly label: string
  readonly from: Meaning | undefined
  readonly to: Meaning | 'latest' | undefined
  readonly isBack: boolean
  readonly releases: Releases
}

function WouldBe ({ to, ...change }: Change) {
  const { id, label, from, releases } = change
  if (to === undefined) return from === undefined ? null : <Removal id={id} label={label} from={from} releases={releases} />
  return isSame(to, from) ? null : <Consequences {...change} to={to} />
}

/** What would become of whom: of those who ask for the label, of those who name none, and of the prompts that include this one. */
function Consequences ({ id, piece, label, from, to, isBack, releases }: Change & { readonly to: Meaning | 'latest' }) {
  const users = useUsers('prompts', id).data
  const count = countPrompts(users?.rows ?? [])
  const [before, after] = [heaviest(from), heaviest(to)]
  return (
    <div className='stack tight'>
      <p role='status'>
        <b>{moveInWords(releases, label, from, to, isBack)}</b>
        {' '}
        {releases.unlabelled === label ? t.callersOfLabelAndNone : t.callersOfLabel}
        {' '}
        {count > 0 && <Link href={`/prompts/${encodeURIComponent(id)}?tab=uses`}>{t.includedBy(count, users?.next !== undefined)}</Link>}
      </p>
      {before !== undefined && after !== undefined && before !== after && (
        <Folded title={t.whatChanges}><Sides id={id} piece={piece} names={[String(before), String(after)]} mayRender={false} /></Folded>
      )}
    </div>
  )
}

/** What would break without a label: for those who ask for it, and for the prompts that name it for a partial. */
function Removal ({ id, label, from, releases }: { readonly id: string, readonly label: string, readonly from: Meaning, readonly releases: Releases }) {
  const users = useUsers('prompts', id).data
  const broken = brokenWithout(users?.rows ?? [], label)
  return (
    <div className='note warn' role='status'>
      <Icon name='problems' />
      <div className='grow wrap'>
        <p>{t.removeMeans(`${id}@${label}`, meaningInWords(from))} {releases.unlabelled === label ? t.removeUnlabelled : t.removeServes}</p>
        {users !== undefined && <p>{broken.length === 0 ? t.removeBreaksNone : t.removeBreaks(broken.length)}</p>}
        <ul>{broken.map(each => <li key={each} className='item'><Link href={pageOf(each)}><code>{each}</code></Link></li>)}</ul>
        {users?.next !== undefined && <p>{t.andMore}</p>}
      </div>
    </div>
  )
}

/** Loads its content when it is opened first. */
function Folded ({ title, children }: { readonly title: string, readonly children: ReactNode }) {
  const [isOpen, setOpen] = useState(false)
  return <details onToggle={event => { setOpen(event.currentTarget.open) }}><summary>{title}</summary>{isOpen && children}</details>
}

/** Says who has moved the label since the form was opened, and goes on only when the person has seen it. */
function Taken ({ label, releases, seen, onGoOn }: {
  readonly label: string
  readonly releases: Releases
  readonly seen: Meaning | undefined
  readonly onGoOn: () => void
}) {
  const move = releases.moves.find(each => each.label === label)
  const words = (meaning: Meaning | null | undefined) => meaning === null || meaning === undefined ? t.nothing : meaningInWords(meaning)
  return (
    <div className='note warn' role='alert'>
      <Icon name='problems' />
      <span className='grow wrap'>
        {move === undefined ? t.labelTakenUnseen(label) : t.labelTaken(move.by, label, words(seen), words(move.to), ago(move.at))}
        {move?.note !== undefined && <> <Revealed text={move.note} /></>}
      </span>
      <button type='button' className='button small' onClick={onGoOn}>{t.goOnFromThere}</button>
    </div>
  )
}

/** Runs the tests of a prompt on one version, before a label is moved to this version. Shows nothing for a prompt without tests. */
function VersionTests ({ id, version }: { readonly id: string, readonly version: number }) {
  const cases = useTests(id).data?.value ?? []
  const { outcomes, run, isRunning } = useRuns(id, version)
  if (cases.length === 0) return null
  const failed = cases.filter((_, index) => hasPassed(outcomes.get(index)) === false)
  return (
    <div className='stack tight'>
      <div className='row wrap-row'>
        <button type='button' className='button small' disabled={isRunning} onClick={() => { void run(cases) }}>
          <Icon name='play' />
          {t.testVersion(version)}
        </button>
        <Summary cases={cases} outcomes={outcomes} />
      </div>
      {failed.length > 0 && <CaseList cases={cases} outcomes={outcomes} />}
    </div>
  )
}
