import { useEffect, useRef, useState } from 'react'
import { useLocation } from 'wouter'
import { t } from '../text/text.ts'

/** A dialog that asks for the id of a new prompt, and then opens the workbench. Nothing is stored before the author saves the prompt. */
export function NewPrompt ({ onClose }: { readonly onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [id, setId] = useState('')
  const [, go] = useLocation()
  useEffect(() => { dialog.current?.showModal() }, [])
  return (
    <dialog ref={dialog} aria-labelledby='new-prompt' onClose={onClose}>
      <form className='stack' onSubmit={event => { event.preventDefault(); go(`/prompts/${encodeURIComponent(id.trim())}`) }}>
        <h2 id='new-prompt'>{t.newPrompt}</h2>
        <div>
          <label htmlFor='new-id'>{t.promptId}</label>
          <input
            id='new-id'
            className='field mono'
            required
            pattern='\S+'
            autoComplete='off'
            spellCheck={false}
            placeholder='support.reply'
            value={id}
            onChange={event => { setId(event.target.value) }}
          />
          <p className='hint'>{t.promptIdHint}</p>
        </div>
        <div className='row'>
          <button className='button primary'>{t.goOn}</button>
          <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.cancel}</button>
        </div>
      </form>
    </dialog>
  )
}
