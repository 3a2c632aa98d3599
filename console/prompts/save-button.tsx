import { useEffect, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { useMay } from '../api/caller.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'
import { storedForm } from './entry.ts'
import { type Workpiece } from './use-draft.ts'

/**
 * The button that saves the draft. If the caller may not write, or the store is read-only, buttons copy the prompt instead, in forms that
 * somebody else can publish.
 */
export function SaveButton ({ id, piece }: { readonly id: string, readonly piece: Workpiece }) {
  const mayWrite = useMay('write')
  const isReadOnly = piece.saveError instanceof ApiError && piece.saveError.code === 'STORE_READ_ONLY'
  const { isDraft, isSaving } = piece
  const [note, setNote] = useState('')
  const save = async () => { await piece.save(undefined, note.trim()) }
  const latest = useRef(save)
  latest.current = save
  useEffect(() => { if (!isDraft) setNote('') }, [isDraft])
  useEffect(() => {
    if (!mayWrite) return
    const press = (event: KeyboardEvent) => {
      if (event.key !== 's' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      void latest.current()
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [mayWrite])
  if (mayWrite && !isReadOnly) {
    return (
      <>
        {isDraft && (
          <input
            className='field auto'
            aria-label={t.noteOfSave}
            placeholder={t.noteOfSave}
            maxLength={500}
            value={note}
            onChange={event => { setNote(event.target.value) }}
          />
        )}
        <button
          type='button'
          className='button primary'
          disabled={!isDraft || isSaving}
          onClick={() => { void save() }}
        >
          {isSaving ? t.saving : t.save}
          {' '}
          <kbd>{t.keySave}</kbd>
        </button>
      </>
    )
  }
  const json = () => JSON.stringify(storedForm(piece.entry), null, 2)
  const quoted = () => json().replaceAll("'", "'\\''")
  return (
    <span className='row'>
      <CopyButton className='button' label={t.copyAsFile} text={json} />
      <CopyButton className='button' label={t.copyAsRedis} text={() => `redis-cli SET 'shenma:templates:${id.replaceAll('.', ':')}' '${quoted()}'`} />
      <CopyButton
        className='button'
        label={t.copyAsCurl}
        text={() => `curl -X PUT '${location.origin}/api/prompts/${encodeURIComponent(id)}' -H 'content-type: application/json' -d '${quoted()}'`}
      />
    </span>
  )
}
