import { useRef, useState } from 'react'
import { api, take } from '../api/client.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { t } from '../text/text.ts'

/** The button that cancels a session, once the user has confirmed it. */
export function CancelButton ({ id, kind }: { readonly id: string, readonly kind: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [error, setError] = useState<unknown>()
  const cancel = async () => {
    try {
      await take(api.POST('/api/sessions/{id}/cancel', { params: { path: { id } } }))
      dialog.current?.close()
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <button type='button' className='button danger' onClick={() => { dialog.current?.showModal() }}>
        {kind === 'skills' ? t.cancelSkill : t.cancelSession}
      </button>
      <dialog ref={dialog} aria-labelledby='cancel-title'>
        <div className='stack'>
          <h2 id='cancel-title'>{t.cancelQuestion}</h2>
          <p>{t.cancelHint}</p>
          {error !== undefined && <ErrorNote error={error} />}
          <div className='row'>
            <button type='button' className='button' onClick={() => { dialog.current?.close() }}>{t.no}</button>
            <button type='button' className='button danger' onClick={() => { void cancel() }}>{t.cancelYes}</button>
          </div>
        </div>
      </dialog>
    </>
  )
}
