import { useEffect, useRef, useState } from 'react'
import { queries } from '../api/queries.ts'
import { keepToken, useRefusal } from '../api/token.ts'
import { t } from '../text/text.ts'

/** Asks the user for a token when the service has refused the present one. Then it loads the open screen again. */
export function TokenDialog () {
  const refusal = useRefusal()
  const dialog = useRef<HTMLDialogElement>(null)
  const [token, setToken] = useState('')
  const [onDevice, setOnDevice] = useState(false)
  useEffect(() => {
    if (refusal === undefined) dialog.current?.close()
    else if (dialog.current?.open === false) dialog.current.showModal()
  }, [refusal])
  const use = () => {
    keepToken(token.trim(), onDevice)
    setToken('')
    void queries.resetQueries()
  }
  return (
    <dialog ref={dialog} aria-labelledby='token-title'>
      <form onSubmit={event => { event.preventDefault(); use() }} className='stack'>
        <h2 id='token-title'>{t.tokenTitle}</h2>
        <p className='wrap'>{refusal}</p>
        <div>
          <label htmlFor='token'>{t.token}</label>
          <input
            id='token'
            className='field mono'
            type='password'
            autoComplete='off'
            required
            value={token}
            onChange={event => { setToken(event.target.value) }}
          />
        </div>
        <label className='row choice'>
          <input type='checkbox' checked={onDevice} onChange={event => { setOnDevice(event.target.checked) }} />
          {t.tokenOnDevice}
        </label>
        <div className='row'><button className='button primary'>{t.tokenUse}</button><span className='hint'>{t.tokenHint}</span></div>
      </form>
    </dialog>
  )
}
