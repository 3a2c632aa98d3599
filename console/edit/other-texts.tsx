import { shortTime } from '../parts/time.ts'
import { t } from '../text/text.ts'
import type { Editing } from './use-edited.ts'

/** Says what else there is of a text that is being edited, such as a newer one that somebody has stored; and when the browser does not keep it. */
export function OtherTexts<T> ({ editing: { state, elsewhere, isKept, drop } }: { readonly editing: Editing<T> }) {
  return (
    <>
      {!isKept && <p className='note warn' role='alert'>{t.draftNotKept}</p>}
      {elsewhere !== undefined && (
        <p className='note warn' role='status'>
          {t.draftElsewhere(shortTime(elsewhere.at))}
          {' '}
          <button type='button' className='button small' onClick={() => { drop(t.draftReplaced, elsewhere.mine) }}>{t.takeThatDraft}</button>
        </p>
      )}
      {state?.half !== undefined && <p className='note warn' role='status'>{t.halfTyped}</p>}
      {state?.theirs !== undefined && !state.isRefused && <p className='note warn' role='status'>{t.newerStored}</p>}
    </>
  )
}
