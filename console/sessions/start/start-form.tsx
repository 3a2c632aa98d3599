import { type ReactNode } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'

export interface StartFormProps {
  /** Elements above the fields. */
  readonly above?: ReactNode
  readonly children: ReactNode
  /** The text of the button. */
  readonly action: string
  readonly isOff: boolean
  readonly error: unknown
  readonly onStart: () => void
  /** Elements beside the form. */
  readonly aside: ReactNode
}

/** The form that starts a session. Ctrl+Enter sends it from any field. */
export function StartForm ({ above, children, action, isOff, error, onStart, aside }: StartFormProps) {
  const press = (event: React.KeyboardEvent) => { if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !isOff) onStart() }
  return (
    <div className='split halves'>
      <form className='stack' onSubmit={event => { event.preventDefault(); onStart() }} onKeyDown={press}>
        {above}
        <section className='panel'>
          <header><h2>{t.startWith}</h2></header>
          <div className='body stack'>{children}</div>
        </section>
        {error !== undefined && <ErrorNote error={error} />}
        <div><button className='button primary' disabled={isOff}>{action}</button></div>
      </form>
      <div className='stack'>{aside}</div>
    </div>
  )
}
