import { type ReactNode, useRef, useState } from 'react'
import { ApiError } from '../api/api-error.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { useKeptText } from '../parts/kept-text.ts'
import { t } from '../text/text.ts'

/**
 * The field in which the user writes to a session. If sending fails, the text stays in the field. When it is sent again, it has the same
 * idempotency key, so that the service counts it only once.
 */
export function Composer ({ label, isOff = false, mayBeEmpty = false, send, children }: {
  readonly label: string
  readonly isOff?: boolean
  readonly mayBeEmpty?: boolean
  readonly send: (text: string, key: string) => Promise<unknown>
  readonly children?: ReactNode
}) {
  const [text, setText] = useKeptText(label)
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const key = useRef(crypto.randomUUID())
  const mayNotSend = isBusy || isOff || (text.trim() === '' && !mayBeEmpty)
  const submit = async () => {
    if (mayNotSend) return
    setBusy(true)
    setError(undefined)
    try {
      await send(text, key.current)
      key.current = crypto.randomUUID()
      setText('')
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  const press = (event: React.KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key === 'Escape') event.currentTarget.blur()
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
    event.preventDefault()
    void submit()
  }
  return (
    <form className='dock composer' onSubmit={event => { event.preventDefault(); void submit() }}>
      {error !== undefined && <ErrorNote error={error} />}
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

/**
 * What a button says to a session, such as to go on. If sending fails, that is told; pressed again, the button sends the same idempotency key,
 * so that the service counts it only once.
 */
export function useButtons (send: (name: string, key: string) => Promise<unknown>) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const doubted = useRef<{ readonly name: string, readonly key: string }>(undefined)
  const press = async (name: string) => {
    const { key } = doubted.current?.name === name ? doubted.current : { key: crypto.randomUUID() }
    setBusy(true)
    setError(undefined)
    try {
      await send(name, key)
      doubted.current = undefined
    } catch (failure) {
      doubted.current = failure instanceof ApiError ? undefined : { name, key }
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return { error, isBusy, press: (name: string) => { void press(name) } }
}
