import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { DeliberateButton } from '../../approvals/deliberate-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import { type Session } from '../use-session.ts'
import { Conflicts } from './conflicts.tsx'
import { type ChangedFile, type Plan } from './use-plan.ts'

/** What can be done with a plan now. A change that deletes is off until every file of it was looked at. */
export function PlanActions ({ session, plan, files, mayApply }: { readonly session: Session, readonly plan: Plan, readonly files: readonly ChangedFile[], readonly mayApply: boolean }) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const params = { params: { path: { id: session.id } } }
  const act = async (call: () => Promise<unknown>) => {
    setBusy(true)
    setError(undefined)
    try {
      await call()
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
      void queries.invalidateQueries({ queryKey: ['plan', session.id] })
      void queries.invalidateQueries({ queryKey: ['session', session.id] })
    }
  }
  const undo = (paths?: readonly string[]) => act(() => take(api.POST('/api/plans/{id}/undo', { ...params, body: paths === undefined ? {} : { paths: [...paths] } })))
  const redo = (paths?: readonly string[]) => act(() => take(api.POST('/api/plans/{id}/redo', { ...params, body: paths === undefined ? {} : { paths: [...paths] } })))
  const { conflicts = [], applied } = plan
  return (
    <div className='stack tight actions'>
      <div className='row wrap-row'>
        <Consent plan={plan} count={files.length} mayApply={mayApply} isOff={isBusy || session.status !== 'waiting_input'} send={digest => { void act(() => take(api.POST('/api/plans/{id}/apply', { ...params, body: { digest } }))) }} />
        <Confirm plan={plan} count={files.length} mayApply={mayApply} isBusy={isBusy} send={digest => { void act(() => take(api.POST('/api/plans/{id}/confirm', { ...params, body: { digest } }))) }} />
        <Steps
          plan={plan} isOff={session.status !== 'waiting_input' || isBusy} undo={() => { void undo() }} redo={() => { void redo() }}
          apply={() => { void act(() => take(api.POST('/api/plans/{id}/apply', params))) }}
          remember={() => { void act(() => take(api.POST('/api/plans/{id}/remember', params))) }}
        />
        {['planned', 'awaiting_confirmation'].includes(plan.state) && <button type='button' className='button danger' disabled={isBusy} onClick={() => { void act(() => take(api.POST('/api/plans/{id}/reject', params))) }}>{t.reject}</button>}
      </div>
      {error !== undefined && <ErrorNote error={error} />}
      {error instanceof ApiError && error.code === 'APPROVAL_OUTDATED' && <p className='note warn'>{t.changedSince}</p>}
      {conflicts.length > 0 && <Conflicts conflicts={conflicts} others={applied.map(({ path }) => path).filter(path => !conflicts.some(conflict => conflict.path === path))} onOthers={undo} />}
    </div>
  )
}

/** The second word on a diff, which is its owner's. */
function Consent ({ plan: { confirm }, count, mayApply, isOff, send }: { readonly plan: Plan, readonly count: number, readonly mayApply: boolean, readonly isOff: boolean, readonly send: (digest: string) => void }) {
  return confirm?.kind === 'diff' ? <ApplyButton count={count} isOff={isOff} mayApply={mayApply} apply={() => { send(confirm.digest) }} /> : null
}

/** The second word on a change that deletes, and on a commit. */
function Confirm ({ plan: { confirm }, count, mayApply, isBusy, send }: { readonly plan: Plan, readonly count: number, readonly mayApply: boolean, readonly isBusy: boolean, readonly send: (digest: string) => void }) {
  const mayApprove = useMay('approve')
  if (confirm === undefined || confirm.kind === 'diff') return null
  if (!mayApprove) return <span className='quiet'>{t.waitsForApprover}</span>
  return <ApplyButton count={count} isOff={isBusy} mayApply={mayApply} apply={() => { send(confirm.digest) }} />
}

/** Off until every file was looked at. */
function ApplyButton ({ count, isOff, mayApply, apply }: { readonly count: number, readonly isOff: boolean, readonly mayApply: boolean, readonly apply: () => void }) {
  return (
    <>
      <DeliberateButton className='button primary' disabled={isOff || !mayApply} onPress={apply}>{t.applyFiles(count)}</DeliberateButton>
      {!mayApply && <span className='quiet'>{t.lookAtAll}</span>}
    </>
  )
}

interface StepsProps { readonly plan: Plan, readonly isOff: boolean, readonly apply: () => void, readonly undo: () => void, readonly redo: () => void, readonly remember: () => void }

function Steps ({ plan: { state, applied, undone, memory_patch: patch }, isOff, apply, undo, redo, remember }: StepsProps) {
  return (
    <>
      {state === 'planned' && <button type='button' className='button primary' disabled={isOff} onClick={apply}>{t.applyPlan}</button>}
      {applied.length > 0 && state !== 'undone' && <button type='button' className='button' disabled={isOff} onClick={undo}>{t.undo}</button>}
      {undone.length > 0 && <button type='button' className='button' disabled={isOff} onClick={redo}>{t.redo}</button>}
      {patch !== undefined && Object.keys(patch).length > 0 && <button type='button' className='button' disabled={isOff} onClick={remember}>{t.remember}</button>}
    </>
  )
}
