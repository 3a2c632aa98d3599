import { t } from '../../text/text.ts'

/** Lists the files that an undo has not changed, since somebody else has changed them. A button undoes the change of all other files. */
export function Conflicts ({ conflicts, others, onOthers }: {
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
