import { useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { useMay } from '../api/caller.ts'
import { queries } from '../api/queries.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { t } from '../text/text.ts'

/** Removes an entry from the registry, once the user has typed its name. @param to path of the screen that is shown afterwards */
export function RemoveButton ({ name, remove, to }: { readonly name: string, readonly remove: () => Promise<unknown>, readonly to: string }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<unknown>()
  const mayWrite = useMay('write')
  const [, go] = useLocation()
  if (!mayWrite) return null
  const act = async () => {
    try {
      await remove()
      await queries.invalidateQueries({ queryKey: ['registry'] })
      go(to)
    } catch (failure) {
      setError(failure)
    }
  }
  return (
    <>
      <button type='button' className='button danger' onClick={() => { setTyped(''); dialog.current?.showModal() }}>{t.withdraw}</button>
      <dialog ref={dialog} aria-labelledby='remove-title'>
        <form className='stack' onSubmit={event => { event.preventDefault(); void act() }}>
          <h2 id='remove-title' className='wrap'>{t.withdrawTitle(name)}</h2>
          <p>{t.withdrawHint}</p>
          <div>
            <label htmlFor='remove-name'>{t.typeToConfirm} <code>{name}</code></label>
            <input
              id='remove-name'
              className='field mono'
              autoComplete='off'
              spellCheck={false}
              value={typed}
              onChange={event => { setTyped(event.target.value) }}
            />
          </div>
          {error !== undefined && <ErrorNote error={error} />}
          <div className='row'>
            <button className='button danger' disabled={typed !== name}>{t.withdraw}</button>
            <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.cancel}</button>
          </div>
        </form>
      </dialog>
    </>
  )
}
