import { useState } from 'react'
import { api, take } from '../../api/client.ts'
import { t } from '../../text/text.ts'

/** The files that an undo or a redo would change, as the service computes them beforehand. */
export interface DryTurn {
  readonly kind: 'undo' | 'redo'
  readonly files: ReadonlyArray<{ readonly path: string }>
  readonly conflicts: ReadonlyArray<{ readonly path: string, readonly reason: string }>
}

/** How many paths are listed at first; there may be thousands. */
const MOST = 20

/** Asks the service which files an undo or a redo would change, without changing any. @throws ApiError */
export async function askTurn (id: string, kind: 'undo' | 'redo'): Promise<DryTurn> {
  const options = { params: { path: { id } }, body: { dryRun: true } }
  const reply = kind === 'undo' ? await take(api.POST('/api/plans/{id}/undo', options)) : await take(api.POST('/api/plans/{id}/redo', options))
  if (!('dryRun' in reply)) throw new TypeError(`${kind}: expected what it would come to`)
  return { kind, files: reply.files, conflicts: reply.conflicts }
}

/** Shows which files an undo or a redo would change, and which it would not touch. Nothing is done before the user agrees. */
export function TurnBack ({ turn: { kind, files, conflicts }, isBusy, onAgree, onLeave }: {
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
