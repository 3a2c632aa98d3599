import { Component, type ReactNode } from 'react'
import { t } from '../text/text.ts'

/**
 * Shows an error in place of a screen that cannot be shown; all other screens still work. The usual reason is an update of the service,
 * after which the console's files have other names.
 */
export class Fault extends Component<{ readonly children: ReactNode }, { readonly error?: unknown }> {
  override state: { readonly error?: unknown } = {}

  static getDerivedStateFromError (error: unknown) {
    return { error }
  }

  override render () {
    if (this.state.error === undefined) return this.props.children
    return (
      <div className='note bad' role='alert'>
        <span className='grow wrap'>{t.fault} <code>{String(this.state.error)}</code></span>
        <button type='button' className='button small' onClick={() => { location.reload() }}>{t.reload}</button>
      </div>
    )
  }
}
