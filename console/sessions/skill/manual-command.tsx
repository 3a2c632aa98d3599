import { useState } from 'react'
import { CommandCount, CommandText } from '../../approvals/command-text.tsx'
import { api, take } from '../../api/client.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'

/** Shows a command that the user runs by hand. The user copies the command, runs it, and pastes its output and exit code. */
export function ManualCommand ({ id, command }: { readonly id: string, readonly command: string }) {
  const [stdout, setStdout] = useState('')
  const [code, setCode] = useState('0')
  const [error, setError] = useState<unknown>()
  const attempt = async (call: () => Promise<unknown>) => {
    try {
      setError(undefined)
      await call()
      setStdout('')
    } catch (failure) {
      setError(failure)
    }
  }
  const path = { path: { id } }
  return (
    <section className='card dock' aria-label={t.runYourself}>
      <header>{t.runYourself}</header>
      <form
        className='body' onSubmit={event => {
          event.preventDefault()
          void attempt(() => take(api.POST('/api/skills/{id}/command-result', { params: path, body: { stdout, exitCode: Number(code) } })))
        }}
      >
        <CommandText text={command} id='manual-count' />
        <div className='row'><CommandCount text={command} id='manual-count' /><CopyButton text={command} label={t.copyRaw} /></div>
        <div>
          <label htmlFor='stdout'>{t.whatItPrinted}</label>
          <textarea
            id='stdout'
            className='field mono'
            rows={3}
            spellCheck={false}
            value={stdout}
            onChange={event => { setStdout(event.target.value) }}
          />
        </div>
        {error !== undefined && <ErrorNote error={error} />}
        <div className='row wrap-row'>
          <label className='row typed'>
            {t.exitCode}
            <input
              className='field num'
              inputMode='numeric'
              pattern='-?\d+'
              value={code}
              onChange={event => { setCode(event.target.value) }}
            />
          </label>
          <span className='grow' />
          <button
            type='button'
            className='button plain'
            onClick={() => { void attempt(() => take(api.POST('/api/skills/{id}/skip', { params: path, body: {} }))) }}
          >
            {t.skipCommand}
          </button>
          <button className='button primary'>{t.sendResult}</button>
        </div>
      </form>
    </section>
  )
}
