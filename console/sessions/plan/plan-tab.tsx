import { useState } from 'react'
import { ApiError } from '../../api/api-error.ts'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { type Once, useSending } from '../../api/sending.ts'
import { DeliberateButton } from '../../approvals/deliberate-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { duration } from '../../parts/time.ts'
import { t } from '../../text/text.ts'
import { Composer } from '../composer.tsx'
import type { SessionEvent } from '../follow/session-socket.ts'
import type { Followed, Session } from '../follow/use-session.ts'
import { Talk } from '../talk.tsx'
import { hasEnded } from '../words.ts'
import { FileDiff } from './file-diff.tsx'
import { FileList } from './file-list.tsx'
import { useLooked } from './use-looked.ts'
import { type ChangedFile, type Plan, usePlan } from './use-plan.ts'

/** The tab of a plan: its change, which files the user has looked at, the results of the checks, and the buttons. */
export function PlanTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const { plan, files, error, isWhole } = usePlan(session)
  const { file, isSeen, see, seeOne, choose, unseen } = useLooked(files)
  return (
    <Loaded query={plan}>
      {value => (
        <>
          <PlanStages
            plan={value}
            events={followed.events}
            seen={files.length - unseen}
            all={files.length}
          />
          <PlanActions
            session={session}
            plan={value}
            files={files}
            isShown={isWhole}
            unseen={unseen}
          />
          {value.error !== undefined && value.error !== '' && (
            <div className='note bad outage-below'>
              <span className='wrap'><b>{value.error_code}</b> <Revealed text={value.error} /></span>
            </div>
          )}
          {error !== null && <><ErrorNote error={error} /><p className='note warn'>{t.previewFailed}</p></>}
          <div className='split list'>
            <div className='stack'>
              {files.length > 0 && <FileList
                files={files}
                chosen={file?.path}
                isSeen={isSeen}
                onChoose={choose}
                onSeen={see}
                                   />}
              <Checks events={followed.events} />
              {session.status === 'waiting_input' && !hasEnded(session.status) && (
                <Composer
                  label={t.otherWords} send={(text, { header, signal }) => take(api.POST('/api/plans/{id}/message', {
                    params: { path: { id: session.id }, header },
                    body: { text },
                    signal
                  }))}
                />
              )}
            </div>
            <div className='stack'>
              {file !== undefined && <FileDiff
                id={session.id}
                file={file}
                isSeen={isSeen(file)}
                onSeen={seeOne}
                                     />}
              <PlanTalk session={session} followed={followed} />
            </div>
          </div>
        </>
      )}
    </Loaded>
  )
}

/** Shows the dialogue about a plan. */
function PlanTalk ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  return (
    <section className='panel'>
      <header><h2>{t.dialogue}</h2></header>
      <div className='body'><Talk session={session} followed={followed} isMain={false} /></div>
    </section>
  )
}

/** Shows the results of a plan's checks and their outputs, the latest check first. */
function Checks ({ events }: { readonly events: readonly SessionEvent[] }) {
  const checks = events.filter(({ event, data }) => event === 'command' && data['check'] !== undefined).toReversed()
  return (
    <>
      {checks.slice(0, 10).map(({ seq, n, data }) => (
        <section key={`${seq}.${n}`} className='panel'>
          <header>
            <h2>{t.checkOf(String(data['check']))}</h2>
            <span className='grow' />
            {typeof data['durationMs'] === 'number' && <span className='quiet num'>{duration(data['durationMs'])}</span>}
            <span className={data['passed'] === true ? 'chip good' : 'chip bad'}>{data['passed'] === true ? t.passed : t.failed}</span>
          </header>
          {typeof data['output'] === 'string' && data['output'] !== '' && (
            <pre className='body text' tabIndex={0} aria-label={t.output}>
              <Revealed text={data['output']} />
            </pre>
          )}
        </section>
      ))}
    </>
  )
}

/** Shows how far a plan is: planned, looked at, written, checked. */
function PlanStages ({ plan: { state }, events, seen, all }: {
  readonly plan: Plan
  readonly events: readonly SessionEvent[]
  readonly seen: number
  readonly all: number
}) {
  const checks = events.filter(({ event, data }) => event === 'command' && data['check'] !== undefined)
  const last = checks.at(-1)?.data['passed']
  const isWritten = state === 'applied'
  const stages = [
    { words: t.stagePlanned, tone: ({ planning: 'warn', failed: 'bad', draft: 'bad' })[state] ?? 'good' },
    { words: all === 0 ? t.stageLookedAt : t.stageLookedAtOf(seen, all), tone: all === 0 ? '' : seen === all ? 'good' : 'warn' },
    { words: state === 'undone' ? t.stageUndone : t.stageWritten, tone: isWritten ? 'good' : state === 'applying' ? 'warn' : '' },
    { words: last === false ? t.stageCheckFailed : t.stageChecked, tone: last === undefined ? '' : last === true ? 'good' : 'bad' }
  ]
  return (
    <ol className='stages'>
      {stages.map(({ words, tone }) => (
        <li key={words} className='row'>
          <span className={`dot ${tone}`} />
          <span className={tone === '' ? 'quiet' : undefined}>{words}</span>
        </li>
      ))}
    </ol>
  )
}

/** The buttons of a plan in its present state. The user can agree to a shown change only after looking at every file of it. */
function PlanActions ({ session: { id, status }, plan, files, isShown, unseen }: {
  readonly session: Session
  readonly plan: Plan
  readonly files: readonly ChangedFile[]
  readonly isShown: boolean
  readonly unseen: number
}) {
  const { error, isBusy, act } = useActions(id)
  const [dry, setDry] = useState<DryTurn>()
  const path = { id }
  const isOff = isBusy || status !== 'waiting_input'
  const { conflicts = [], applied, state } = plan
  const turn = (kind: 'undo' | 'redo', paths?: readonly string[]) => {
    const body = paths === undefined ? {} : { paths: [...paths] }
    return act(`${kind} ${JSON.stringify(body)}`, async ({ header, signal }) => {
      const options = { params: { path, header }, body, signal }
      await (kind === 'undo' ? take(api.POST('/api/plans/{id}/undo', options)) : take(api.POST('/api/plans/{id}/redo', options)))
      setDry(undefined)
    })
  }
  const look = (kind: 'undo' | 'redo') => { void act(`look ${kind}`, async () => { setDry(await askTurn(id, kind)) }) }
  const apply = (digest: string) => {
    void act(`apply ${digest}`, ({ header, signal }) => take(api.POST('/api/plans/{id}/apply', { params: { path, header }, body: { digest }, signal })))
  }
  const confirm = (digest: string) => {
    void act(`confirm ${digest}`, ({ header, signal }) => take(api.POST('/api/plans/{id}/confirm', { params: { path, header }, body: { digest }, signal })))
  }
  return (
    <div className='stack tight actions'>
      <div className='row wrap-row'>
        <Agree plan={plan} count={files.length} isShown={isShown} unseen={unseen} isOff={isOff} isBusy={isBusy} apply={apply} confirm={confirm} />
        <Steps
          plan={plan}
          isOff={isOff}
          apply={() => { apply(NOTHING_SHOWN) }}
          undo={() => { look('undo') }}
          redo={() => { look('redo') }}
          remember={() => {
            void act('remember', ({ header, signal }) => take(api.POST('/api/plans/{id}/remember', { params: { path, header }, signal })))
          }}
        />
        {['planned', 'awaiting_confirmation'].includes(state) && (
          <button
            type='button'
            className='button danger'
            disabled={isBusy}
            onClick={() => {
              void act('reject', ({ header, signal }) => take(api.POST('/api/plans/{id}/reject', { params: { path, header }, signal })))
            }}
          >
            {t.reject}
          </button>
        )}
      </div>
      {error !== undefined && <ErrorNote error={error} isSent />}
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

/**
 * The digest of a plan whose diff does not exist yet. What this page does not know of may wait already: it is refused, since nobody has looked
 * at it here.
 */
const NOTHING_SHOWN = 'nothing-shown'

/** Runs an action of a plan, and then requests the plan again. `isBusy` is true until the service has taken the action. */
function useActions (id: string) {
  const { error, isBusy, send } = useSending()
  const act = async (what: string, call: (once: Once) => Promise<unknown>) => {
    await send(what, call)
    void queries.invalidateQueries({ queryKey: ['plan', id] })
    void queries.invalidateQueries({ queryKey: ['session', id] })
  }
  return { error, isBusy, act }
}

/**
 * The button by which a person agrees to what waits, once exactly that is on the screen and every file was looked at. The owner of the plan
 * agrees to a diff; for deletions and for a commit, the person needs the role `approve`.
 */
function Agree ({ plan: { confirm: waits }, count, isShown, unseen, isOff, isBusy, apply, confirm }: {
  readonly plan: Plan
  readonly count: number
  readonly isShown: boolean
  readonly unseen: number
  readonly isOff: boolean
  readonly isBusy: boolean
  readonly apply: (digest: string) => void
  readonly confirm: (digest: string) => void
}) {
  const mayApprove = useMay('approve')
  if (waits === undefined) return null
  const isDiff = waits.kind === 'diff'
  if (!isDiff && !mayApprove) return <span className='quiet'>{t.waitsForApprover}</span>
  const isReady = isShown && unseen === 0
  const words = waits.kind === 'commit' ? t.commitFiles(waits.paths?.length ?? 0) : isShown ? t.applyFiles(count) : t.applyShown
  return (
    <>
      <DeliberateButton
        className='button primary'
        disabled={!isReady || (isDiff ? isOff : isBusy)}
        onPress={() => { (isDiff ? apply : confirm)(waits.digest) }}
      >
        {words}
      </DeliberateButton>
      {!isReady && <span className='quiet'>{isShown ? t.lookAtAll : t.notShownYet}</span>}
    </>
  )
}

function Steps ({ plan: { state, applied, undone, memory_patch: patch = {} }, isOff, apply, undo, redo, remember }: {
  readonly plan: Plan
  readonly isOff: boolean
  readonly apply: () => void
  readonly undo: () => void
  readonly redo: () => void
  readonly remember: () => void
}) {
  return (
    <>
      {state === 'planned' && <button type='button' className='button primary' disabled={isOff} onClick={apply}>{t.applyPlan}</button>}
      {applied.length > 0 && state !== 'undone' && <button type='button' className='button' disabled={isOff} onClick={undo}>{t.undo}…</button>}
      {undone.length > 0 && <button type='button' className='button' disabled={isOff} onClick={redo}>{t.redo}…</button>}
      {Object.keys(patch).length > 0 && <button type='button' className='button' disabled={isOff} onClick={remember}>{t.remember}</button>}
    </>
  )
}

/** Lists the files that an undo has not changed, since somebody else has changed them. A button undoes the change of all other files. */
function Conflicts ({ conflicts, others, onOthers }: {
  readonly conflicts: ReadonlyArray<{ readonly path: string, readonly reason: string }>
  readonly others: readonly string[]
  readonly onOthers: (paths: readonly string[]) => Promise<void>
}) {
  return (
    <section className='note warn' role='alert'>
      <div className='stack tight grow'>
        <p><b>{t.conflictsTitle}</b> {t.conflictsHint}</p>
        <ul>{conflicts.map(({ path, reason }) => <li key={path} className='wrap'><code>{path}</code> {t.conflictReason(reason)}</li>)}</ul>
        {others.length > 0 && (
          <p>
            <button type='button' className='button small' onClick={() => { void onOthers(others) }}>{t.undoOthers(others.length)}</button>
          </p>
        )}
      </div>
    </section>
  )
}

/** The files that an undo or a redo would change, as the service computes them beforehand. */
interface DryTurn {
  readonly kind: 'undo' | 'redo'
  readonly files: ReadonlyArray<{ readonly path: string }>
  readonly conflicts: ReadonlyArray<{ readonly path: string, readonly reason: string }>
}

/** How many paths are listed at first; there may be thousands. */
const MOST = 20

/** Asks the service which files an undo or a redo would change, without changing any. @throws ApiError */
async function askTurn (id: string, kind: 'undo' | 'redo'): Promise<DryTurn> {
  const options = { params: { path: { id } }, body: { dryRun: true } }
  const reply = kind === 'undo' ? await take(api.POST('/api/plans/{id}/undo', options)) : await take(api.POST('/api/plans/{id}/redo', options))
  if (!('dryRun' in reply)) throw new TypeError(`${kind}: expected what it would come to`)
  return { kind, files: reply.files, conflicts: reply.conflicts }
}

/** Shows which files an undo or a redo would change, and which it would not touch. Nothing is done before the user agrees. */
function TurnBack ({ turn: { kind, files, conflicts }, isBusy, onAgree, onLeave }: {
  readonly turn: DryTurn
  readonly isBusy: boolean
  /** Called when the user agrees. @param paths the files to change; `undefined` for all */
  readonly onAgree: (paths: readonly string[] | undefined) => void
  readonly onLeave: () => void
}) {
  const [isAll, setAll] = useState(false)
  const shown = isAll ? files : files.slice(0, MOST)
  const paths = conflicts.length === 0 ? undefined : files.map(({ path }) => path)
  return (
    <section className={conflicts.length === 0 ? 'note' : 'note warn'} role='alert'>
      <div className='stack tight grow'>
        {files.length > 0 && <p><b>{kind === 'undo' ? t.undoWould(files.length) : t.redoWould(files.length)}</b></p>}
        <ul>{shown.map(({ path }) => <li key={path} className='wrap'><code>{path}</code></li>)}</ul>
        {shown.length < files.length && <p><button type='button' className='button small' onClick={() => { setAll(true) }}>{t.showMore}</button></p>}
        {conflicts.length > 0 && (
          <>
            <p><b>{t.wouldStay(conflicts.length)}</b> {t.conflictsHint}</p>
            <ul>{conflicts.slice(0, 500).map(({ path, reason }) => <li key={path} className='wrap'><code>{path}</code> {t.conflictReason(reason)}</li>)}</ul>
          </>
        )}
        <div className='row wrap-row'>
          {files.length > 0 && (
            <button type='button' className='button start' disabled={isBusy} onClick={() => { onAgree(paths) }}>
              {kind === 'undo' ? t.undoFiles(files.length) : t.redoFiles(files.length)}
            </button>
          )}
          <button type='button' className='button plain start' onClick={onLeave}>{t.leaveIt}</button>
        </div>
      </div>
    </section>
  )
}
