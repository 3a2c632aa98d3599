import { type ReactNode } from 'react'
import { type Once, useSending } from '../api/sending.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { useKeptText } from '../parts/kept-text.ts'
import { t } from '../text/text.ts'

/** The field in which the user writes to a session. If sending fails, the text stays in the field. */
export function Composer ({ label, isOff = false, mayBeEmpty = false, send, children }: {
  readonly label: string
  readonly isOff?: boolean
  readonly mayBeEmpty?: boolean
  readonly send: (text: string, once: Once) => Promise<unknown>
  readonly children?: ReactNode
}) {
  const [text, setText] = useKeptText(label)
  const { error, isBusy, send: sendOnce } = useSending()
  const mayNotSend = isBusy || isOff || (text.trim() === '' && !mayBeEmpty)
  const submit = async () => {
    if (!mayNotSend && await sendOnce(text, once => send(text, once))) setText('')
  }
  const press = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Escape') event.currentTarget.blur()
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void submit()
  }
  return (
    <form className='dock composer' onSubmit={event => { event.preventDefault(); void submit() }}>
      {error !== undefined && <ErrorNote error={error} isSent />}
      <textarea
        className='field growing'
        rows={2}
        aria-label={label}
        placeholder={label}
        value={text}
        onChange={event => { setText(event.target.value) }}
        onKeyDown={press}
      />
      <div className='row wrap-row'>
        {children}
        <span className='grow' />
        <span className='quiet wide'>{t.enterSends}</span>
        <button className='button primary' disabled={mayNotSend}>{t.send}</button>
      </div>
    </form>
  )
}
