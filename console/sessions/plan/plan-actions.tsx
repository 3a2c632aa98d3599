import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { DeliberateButton } from '../../approvals/deliberate-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import { type Session } from '../follow/use-session.ts'
import { Conflicts } from './conflicts.tsx'
import { askTurn, type DryTurn, TurnBack } from './turn-back.tsx'
import { type ChangedFile, type Plan } from './use-plan.ts'

export interface PlanActionsProps {
  readonly session: Session
  readonly plan: Plan
  readonly files: readonly ChangedFile[]
  /** Whether the user has looked at every file of the change. */
  readonly mayApply: boolean
}

/** The buttons of a plan in its present state. The user can agree to a shown change only after looking at every file of it. */
export function PlanActions ({ session: { id, status }, plan, files, mayApply }: PlanActionsProps) {
  const { error, isBusy, act } = useActions(id)
  const [dry, setDry] = useState<DryTurn>()
  const params = { params: { path: { id } } }
  const isOff = isBusy || status !== 'waiting_input'
  const { conflicts = [], applied, state } = plan
  const turn = (kind: 'undo' | 'redo', paths?: readonly string[]) => act(async () => {
    const body = paths === undefined ? {} : { paths: [...paths] }
    await (kind === 'undo' ? take(api.POST('/api/plans/{id}/undo', { ...params, body })) : take(api.POST('/api/plans/{id}/redo', { ...params, body })))
    setDry(undefined)
  })
  const look = (kind: 'undo' | 'redo') => { void act(async () => { setDry(await askTurn(id, kind)) }) }
  const apply = (digest?: string) => {
    void act(() => take(api.POST('/api/plans/{id}/apply', { ...params, ...(digest === undefined ? {} : { body: { digest } }) })))
  }
  const confirm = (digest: string) => { void act(() => take(api.POST('/api/plans/{id}/confirm', { ...params, body: { digest } }))) }
  return (
    <div className='stack tight actions'>
      <div className='row wrap-row'>
        <Agree plan={plan} count={files.length} mayApply={mayApply} isOff={isOff} isBusy={isBusy} apply={apply} confirm={confirm} />
        <Steps
          plan={plan}
          isOff={isOff}
          apply={() => { apply() }}
          undo={() => { look('undo') }}
          redo={() => { look('redo') }}
          remember={() => { void act(() => take(api.POST('/api/plans/{id}/remember', params))) }}
        />
        {['planned', 'awaiting_confirmation'].includes(state) && (
          <button
            type='button'
            className='button danger'
            disabled={isBusy}
            onClick={() => { void act(() => take(api.POST('/api/plans/{id}/reject', params))) }}
          >
            {t.reject}
          </button>
        )}
      </div>
      {error !== undefined && <ErrorNote error={error} />}
      {error instanceof ApiError && error.code === 'APPROVAL_OUTDATED' && <p className='note warn'>{t.changedSince}</p>}
      {dry !== undefined && <TurnBack turn={dry} isBusy={isBusy} onAgree={paths => { void turn(dry.kind, paths) }} onLeave={() => { setDry(undefined) }} />}
      {dry === undefined && conflicts.length > 0 && (
        <Conflicts
          conflicts={conflicts}
          others={applied.map(({ path }) => path).filter(path => !conflicts.some(conflict => conflict.path === path))}
          onOthers={paths => turn('undo', paths)}
        />
      )}
    </div>
  )
}

/** Runs an action of a plan, and then requests the plan again. `isBusy` is true until the action has ended. */
function useActions (id: string) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const act = async (call: () => Promise<unknown>) => {
    setBusy(true)
    setError(undefined)
    try {
      await call()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
      void queries.invalidateQueries({ queryKey: ['plan', id] })
      void queries.invalidateQueries({ queryKey: ['session', id] })
    }
  }
  return { error, isBusy, act }
}

interface AgreeProps {
  readonly plan: Plan
  readonly count: number
  readonly mayApply: boolean
  readonly isOff: boolean
  readonly isBusy: boolean
  readonly apply: (digest: string) => void
  readonly confirm: (digest: string) => void
}

/**
 * The button by which a person agrees to what waits. The owner of the plan agrees to a diff; for deletions and for a commit, the person
 * needs the role `approve`.
 */
function Agree ({ plan: { confirm: waits }, count, mayApply, isOff, isBusy, apply, confirm }: AgreeProps) {
  const mayApprove = useMay('approve')
  if (waits === undefined) return null
  if (waits.kind === 'diff') return <ApplyButton count={count} isOff={isOff} mayApply={mayApply} apply={() => { apply(waits.digest) }} />
  if (!mayApprove) return <span className='quiet'>{t.waitsForApprover}</span>
  return <ApplyButton count={count} isOff={isBusy} mayApply={mayApply} apply={() => { confirm(waits.digest) }} />
}

interface ApplyButtonProps { readonly count: number, readonly isOff: boolean, readonly mayApply: boolean, readonly apply: () => void }

/** The button that applies a change. It is disabled until the user has looked at every file. */
function ApplyButton ({ count, isOff, mayApply, apply }: ApplyButtonProps) {
  return (
    <>
      <DeliberateButton className='button primary' disabled={isOff || !mayApply} onPress={apply}>{t.applyFiles(count)}</DeliberateButton>
      {!mayApply && <span className='quiet'>{t.lookAtAll}</span>}
    </>
  )
}

interface StepsProps {
  readonly plan: Plan
  readonly isOff: boolean
  readonly apply: () => void
  readonly undo: () => void
  readonly redo: () => void
  readonly remember: () => void
}

function Steps ({ plan: { state, applied, undone, memory_patch: patch = {} }, isOff, apply, undo, redo, remember }: StepsProps) {
  return (
    <>
      {state === 'planned' && <button type='button' className='button primary' disabled={isOff} onClick={apply}>{t.applyPlan}</button>}
      {applied.length > 0 && state !== 'undone' && <button type='button' className='button' disabled={isOff} onClick={undo}>{t.undo}…</button>}
      {undone.length > 0 && <button type='button' className='button' disabled={isOff} onClick={redo}>{t.redo}…</button>}
      {Object.keys(patch).length > 0 && <button type='button' className='button' disabled={isOff} onClick={remember}>{t.remember}</button>}
    </>
  )
}
