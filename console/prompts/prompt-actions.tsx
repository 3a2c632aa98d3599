import { useQuery } from '@tanstack/react-query'
import { type ReactNode, useEffect, useRef, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { hasDraft } from '../edit/use-edited.ts'
import { Users } from '../library/used-by.tsx'
import { ErrorNote, Told } from '../parts/error-note.tsx'
import { TypedName } from '../parts/fields.tsx'
import { Loaded } from '../parts/loading.tsx'
import { t } from '../text/text.ts'
import { isThere, type Progress, readWhole, type Step, stepsTo, useSteps, type Whole } from './entry-steps.ts'

type Action = 'duplicate' | 'rename' | 'remove'

/** A dialog that duplicates, renames or deletes a prompt. What this would do, and break, is said before, and what was done can be taken back. */
export function PromptActions ({ id, onClose }: { readonly id: string, readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [action, setAction] = useState<Action>()
  const steps = useSteps()
  useEffect(() => { dialog.current?.showModal() }, [])
  const close = () => { dialog.current?.close() }
  const { progress } = steps
  return (
    <dialog
      ref={dialog}
      className='broad'
      aria-labelledby='act-title'
      onClose={onClose}
      onCancel={event => { if (progress?.isRunning === true) event.preventDefault() }}
    >
      <div className='stack'>
        <h2 id='act-title' className='wrap'>{action === undefined ? id : t.actionTitle(action, id)}</h2>
        {action === undefined
          ? <Choices id={id} onChoose={setAction} onClose={close} />
          : progress === undefined
            ? <Before key={action} action={action} id={id} onBegin={given => { void steps.begin(given) }} onBack={() => { setAction(undefined) }} />
            : (
              <Steps
                action={action}
                progress={progress}
                onGoOn={() => { void steps.goOn(progress) }}
                onTakeBack={() => { void steps.takeBack(progress) }}
                onClose={close}
              />
              )}
      </div>
    </dialog>
  )
}

const ACTIONS: readonly Action[] = ['duplicate', 'rename', 'remove']

function Choices ({ id, onChoose, onClose }: { readonly id: string, readonly onChoose: (action: Action) => void, readonly onClose: () => void }) {
  return (
    <>
      <div className='choices'>
        {ACTIONS.map(action => (
          <button key={action} type='button' className={action === 'remove' ? 'button danger' : 'button'} onClick={() => { onChoose(action) }}>
            {t.actionName(action)}
            <span>{t.actionHint(action)}</span>
          </button>
        ))}
      </div>
      {hasDraft(`prompt ${id}`) && <p className='note warn'>{t.draftStays}</p>}
      <div><button type='button' className='button plain' onClick={onClose}>{t.cancel}</button></div>
    </>
  )
}

interface BeforeProps {
  readonly id: string
  readonly onBegin: (steps: readonly Step[]) => void
  readonly onBack: () => void
}

/** What the action would do and break, as far as that is known, and what it needs to be told. */
function Before ({ action, ...given }: BeforeProps & { readonly action: Action }) {
  // It is what the steps copy and compare with, so it is read once, and not again while they run.
  const whole = useQuery({ queryKey: ['whole', given.id], queryFn: () => readWhole(given.id), staleTime: 0, gcTime: 0, retry: false })
  return (
    <>
      <Loaded query={whole}>
        {loaded => action === 'remove'
          ? <RemoveForm whole={loaded} {...given} />
          : <CopyForm action={action} whole={loaded} {...given} />}
      </Loaded>
      {whole.data === undefined && <div><button type='button' className='button plain' onClick={() => { given.onBack() }}>{t.goBack}</button></div>}
    </>
  )
}

function CopyForm ({ action, id, whole, onBegin, onBack }: BeforeProps & { readonly action: 'duplicate' | 'rename', readonly whole: Whole }) {
  const [to, setTo] = useState(`${id}${action === 'duplicate' ? '-copy' : ''}`)
  const [error, setError] = useState<unknown>()
  const [isAsking, setAsking] = useState(false)
  const isBlocked = action === 'rename' && (whole.isOfExtension || whole.labels.length > 0)
  const begin = async () => {
    setAsking(true)
    setError(undefined)
    try {
      if (await isThere(to.trim())) throw new Told(t.idIsTaken(to.trim()))
      onBegin(stepsTo(action, id, whole, to.trim()))
    } catch (failure) {
      setError(failure)
    } finally {
      setAsking(false)
    }
  }
  return (
    <form className='stack' onSubmit={event => { event.preventDefault(); void begin() }}>
      <div>
        <label htmlFor='act-id'>{t.newId}</label>
        <input
          id='act-id'
          className='field mono'
          required
          pattern='\S+'
          autoComplete='off'
          spellCheck={false}
          value={to}
          disabled={isBlocked}
          onChange={event => { setTo(event.target.value) }}
        />
      </div>
      <ul className='plain-list'>
        <li>{t.isCopied(whole.tests.value !== undefined)}</li>
        <li>{t.isNotCopied(whole.versions)}</li>
        {id.includes('.') && <li>{t.partialsOfFolder}</li>}
        {action === 'rename' && <li>{t.callersOfOld(id)}</li>}
      </ul>
      {action === 'rename' && <Reached id={id} title={t.namesOldId} />}
      {isBlocked && <Blocked id={id} whole={whole} />}
      {error !== undefined && <ErrorNote error={error} />}
      <Buttons onBack={onBack}>
        <button className='button primary' disabled={isBlocked || isAsking || to.trim() === id}>{t.actionName(action)}</button>
      </Buttons>
    </form>
  )
}

function RemoveForm ({ id, whole, onBegin, onBack }: BeforeProps & { readonly whole: Whole }) {
  const [typed, setTyped] = useState('')
  const isBlocked = whole.isOfExtension || whole.labels.length > 0
  return (
    <form className='stack' onSubmit={event => { event.preventDefault(); onBegin(stepsTo('remove', id, whole, id)) }}>
      <Reached id={id} title={t.wouldBreak} />
      <ul className='plain-list'>
        <li>{t.callersOfRemoved(id)}</li>
        {whole.tests.value !== undefined && <li>{t.testsGoToo}</li>}
        {whole.versions > 0 && <li>{t.versionsStay(whole.versions)}</li>}
      </ul>
      {isBlocked
        ? <Blocked id={id} whole={whole} />
        : <TypedName name={id} value={typed} onChange={setTyped} />}
      <Buttons onBack={onBack}><button className='button danger' disabled={isBlocked || typed !== id}>{t.actionName('remove')}</button></Buttons>
    </form>
  )
}

function Reached ({ id, title }: { readonly id: string, readonly title: string }) {
  return <section className='stack tight' aria-label={title}><h3>{title}</h3><div className='users'><Users kind='prompts' id={id} /></div></section>
}

/** Why the old prompt cannot go. */
function Blocked ({ id, whole: { isOfExtension, labels } }: { readonly id: string, readonly whole: Whole }) {
  if (isOfExtension) return <p className='note warn'>{t.goesWithExtension}</p>
  return (
    <p className='note warn'>
      <span>{t.labelsHoldIt(labels.join(', '))} <Link href={`/prompts/${encodeURIComponent(id)}?tab=releases`}>{t.tabReleases}</Link></span>
    </p>
  )
}

function Buttons ({ onBack, children }: { readonly onBack: () => void, readonly children: ReactNode }) {
  return <div className='row wrap-row'>{children}<button type='button' className='button plain' onClick={onBack}>{t.goBack}</button></div>
}

/** What was done so far, one step after the other, and the ways on and back. */
function Steps ({ action, progress, onGoOn, onTakeBack, onClose }: {
  readonly action: Action
  readonly progress: Progress
  readonly onGoOn: () => void
  readonly onTakeBack: () => void
  readonly onClose: () => void
}) {
  const { steps, done, isRunning, isBack, error } = progress
  const [path, go] = useLocation()
  const made = steps.find(({ kind, makes }) => kind === 'prompt' && makes === 'stored')?.id
  const gone = steps.find(({ kind, makes }) => kind === 'prompt' && makes === 'gone')?.id
  const isAtEnd = !isRunning && error === undefined
  const open = (id: string) => {
    onClose()
    go(`/prompts/${encodeURIComponent(id)}`)
  }
  const leave = () => {
    onClose()
    if (isAtEnd && !isBack && gone !== undefined && path.startsWith(`/prompts/${encodeURIComponent(gone)}`)) go('/prompts')
  }
  return (
    <>
      <ol className='plain-list'>
        {steps.map((step, index) => (
          <li key={`${step.kind} ${step.id}`}>
            {t.storeStepOf(step.kind, step.makes, step.id)}
            {' '}
            <span className={index < done ? 'chip good' : 'chip'}>{index < done ? t.stepDone : isBack ? t.stepBack : t.stepOpen}</span>
          </li>
        ))}
      </ol>
      <p role='status'>{isRunning ? t.saving : error !== undefined ? t.stepsFailed : isBack ? t.stepsBack : t.stepsDone(action)}</p>
      {error !== undefined && <ErrorNote error={error} />}
      {isAtEnd && !isBack && <p className='hint'>{t.backUntilClosed}</p>}
      <div className='row wrap-row'>
        {isAtEnd && !isBack && made !== undefined && (
          <button type='button' className='button primary' onClick={() => { open(made) }}>{t.openNew}</button>
        )}
        {error !== undefined && <button type='button' className='button primary' onClick={onGoOn}>{t.retry}</button>}
        {!isRunning && !isBack && <button type='button' className='button' onClick={onTakeBack}>{t.putBack}</button>}
        <button type='button' className='button plain' disabled={isRunning} onClick={() => { leave() }}>{t.close}</button>
      </div>
    </>
  )
}
