import { useEffect, useRef, useState } from 'react'
import { t } from '../text/text.ts'

/** A dialog in which the author edits the values of all variables at once, as JSON. */
export function PasteJson ({ id, values, onClose, onTake }: {
  readonly id: string
  readonly values: Readonly<Record<string, unknown>>
  readonly onClose: () => void
  readonly onTake: (values: Readonly<Record<string, unknown>>) => void
}) {
  const dialog = useRef<HTMLDialogElement>(null)
  const [text, setText] = useState(() => JSON.stringify(values, null, 2))
  const [problem, setProblem] = useState('')
  useEffect(() => { dialog.current?.showModal() }, [])
  const take = () => {
    try {
      const parsed: unknown = JSON.parse(text)
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) throw new Error(t.settingsObject)
      onTake(parsed as Record<string, unknown>)
      dialog.current?.close()
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error))
    }
  }
  return (
    <dialog ref={dialog} aria-labelledby='paste-title' onClose={onClose}>
      <form className='stack' onSubmit={event => { event.preventDefault(); take() }}>
        <h2 id='paste-title'>{t.valuesOf(id)}</h2>
        <textarea
          className='field mono'
          rows={12}
          aria-label='JSON'
          spellCheck={false}
          value={text}
          onChange={event => { setText(event.target.value) }}
        />
        {problem !== '' && <p className='hint bad' role='alert'>{problem}</p>}
        <div className='row'>
          <button className='button primary'>{t.take}</button>
          <button type='button' className='button plain' onClick={() => { dialog.current?.close() }}>{t.cancel}</button>
        </div>
      </form>
    </dialog>
  )
}
