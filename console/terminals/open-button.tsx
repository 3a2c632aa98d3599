import { useState } from 'react'
import { useLocation } from 'wouter'
import { ErrorNote } from '../parts/error-note.tsx'
import { t } from '../text/text.ts'
import { openTerminal } from './terminal-api.ts'

/** The button that opens a terminal on a target, and then shows the terminal's page. */
export function OpenButton ({ target }: { readonly target: string }) {
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const [, go] = useLocation()
  const open = async () => {
    setBusy(true)
    setError(undefined)
    try {
      go(`/terminals/${(await openTerminal(target)).terminalId}`)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
    }
  }
  return (
    <>
      <button type='button' className='button small' disabled={isBusy} aria-label={t.openOn(target)} onClick={() => { void open() }}>{t.terminal}</button>
      {error !== undefined && <ErrorNote error={error} />}
    </>
  )
}
