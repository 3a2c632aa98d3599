import { useState } from 'react'
import { api, take } from '../api/client.ts'
import { queries } from '../api/queries.ts'
import { ErrorNote } from '../parts/error-note.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { duration } from '../parts/time.ts'
import { fieldsOf } from '../prompts/parameters.ts'
import { ValueField } from '../prompts/value-field.tsx'
import { t } from '../text/text.ts'

interface Outcome {
  readonly value?: unknown
  readonly outcome: string
  readonly durationMs: number
  readonly error?: { readonly code: string, readonly message: string }
}

/** A form that calls a tool by hand, and shows the result. */
export function CallTool ({ id, parameters }: { readonly id: string, readonly parameters: unknown }) {
  const [values, setValues] = useState<Readonly<Record<string, unknown>>>({})
  const [outcome, setOutcome] = useState<Outcome>()
  const [error, setError] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)
  const fields = fieldsOf(parameters, undefined)
  const call = async () => {
    setBusy(true)
    setError(undefined)
    try {
      setOutcome(await take(api.POST('/api/tools/{id}/call', { params: { path: { id } }, body: { arguments: values } })) as Outcome)
    } catch (failure) {
      setError(failure)
    } finally {
      setBusy(false)
      void queries.invalidateQueries({ queryKey: ['registry', 'tool', id] })
    }
  }
  return (
    <form className='panel' onSubmit={event => { event.preventDefault(); void call() }}>
      <header><h2>{t.callByHand}</h2><span className='grow' /><button className='button primary small' disabled={isBusy}>{t.call}</button></header>
      {fields.length > 0 && (
        <div className='body form'>
          {fields.map(field => (
            <ValueField
              key={field.name}
              id={`a-${field.name}`}
              field={field}
              value={values[field.name]}
              problem={undefined}
              onChange={value => { setValues(before => ({ ...before, [field.name]: value })) }}
            />
          ))}
        </div>
      )}
      {error !== undefined && <div className='body'><ErrorNote error={error} /></div>}
      {outcome !== undefined && (
        <div className='body foot' role='status'>
          <p className='row'>
            <span className={outcome.outcome === 'ok' || outcome.outcome === 'cached' ? 'chip good' : 'chip bad'}>{t.outcome(outcome.outcome)}</span>
            <span className='quiet num'>{duration(outcome.durationMs)}</span>
          </p>
          {outcome.error !== undefined && <p className='wrap'><code>{outcome.error.code}</code> <Revealed text={outcome.error.message} /></p>}
          <pre className='text'><Revealed text={JSON.stringify(outcome.value, null, 2) ?? ''} /></pre>
        </div>
      )}
    </form>
  )
}
