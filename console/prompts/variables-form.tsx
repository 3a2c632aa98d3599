import { useEffect, useRef, useState } from 'react'
import type { Bundle, Mistake, Tried } from '../api/preview.ts'
import { t } from '../text/text.ts'
import type { Field } from './parameters.ts'
import { ValueField } from './value-field.tsx'

/** The form with the values for a preview of a prompt. An empty field is not sent. */
export function VariablesForm ({ id, fields, tried, hasHistory, onChange, mistakes, isAsked, onCase, onBundle }: {
  readonly id: string
  readonly fields: readonly Field[]
  readonly tried: Tried
  readonly hasHistory: boolean
  readonly onChange: (tried: Tried) => void
  readonly mistakes: readonly Mistake[]
  readonly isAsked: boolean
  /** Makes a test case of the values. */
  readonly onCase: (() => void) | undefined
  readonly onBundle: (bundle: Bundle) => void
}) {
  const [isPasting, setPasting] = useState(false)
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  const [hasPasted, setPasted] = useState(false)
  const [problem, setProblem] = useState('')
  const file = useRef<HTMLInputElement>(null)
  const open = async (chosen: File | undefined) => {
    if (chosen === undefined) return
    try {
      const bundle = JSON.parse(await chosen.text()) as Bundle
      if (typeof bundle.variables !== 'object' || !Array.isArray(bundle.tools)) throw new Error(t.noBundle)
      setProblem('')
      onBundle(bundle)
    } catch (error) {
      setProblem(String(error instanceof Error ? error.message : error))
    }
  }
  const values = tried.variables
  const take = (variables: Tried['variables']) => { onChange({ ...tried, variables }) }
  const set = (name: string, value: unknown) => {
    const { [name]: old, ...rest } = values
    take(value === undefined ? rest : { ...rest, [name]: value })
  }
  return (
    <section className='panel' aria-label={t.variablesOfCaller}>
      <header>
        <h2>{t.variablesOfCaller}</h2><span className='grow' />
        {onCase !== undefined && <button type='button' className='button plain small' onClick={onCase}>{t.makeTest}</button>}
        <button type='button' className='button plain small' onClick={() => { setPasting(true) }}>{t.pasteJson}</button>
        <button type='button' className='button plain small' onClick={() => { file.current?.click() }}>{t.openBundle}</button>
        <input
          ref={file}
          type='file'
          accept='.json,application/json'
          hidden
          aria-label={t.openBundle}
          onChange={event => { void open(event.target.files?.[0]); event.target.value = '' }}
        />
      </header>
      {problem !== '' && <p className='hint bad inside' role='alert'>{problem}</p>}
      {fields.length === 0 && !hasHistory
        ? <p className='body quiet'>{t.noVariables}</p>
        : (
          <div className='body form'>
            {fields.map(field => (
              <ValueField
                key={field.name}
                onTouch={() => { setTouched(before => new Set(before).add(field.name)) }}
                id={`v-${field.name}`}
                field={field}
                value={values[field.name]}
                onChange={value => { set(field.name, value) }}
                problem={isAsked || hasPasted || touched.has(field.name) ? problemOf(field.name, mistakes) : undefined}
              />
            ))}
            {hasHistory && <ValueField
              id='history'
              field={{ name: t.conversation, type: 'json', isRequired: false, isLong: true, standard: ONE_SAID, description: t.conversationHint }}
              value={tried.messages}
              onChange={messages => { onChange({ ...tried, messages }) }}
              problem={undefined}
                           />}
          </div>
          )}
      {isPasting && <PasteJson id={id} values={values} onClose={() => { setPasting(false) }} onTake={variables => { take(variables); setPasted(true) }} />}
    </section>
  )
}

/** The example that an empty field for a conversation shows. */
const ONE_SAID = [{ role: 'user', content: '…' }]

/**
 * The service's error about a variable: that it is missing, and which of the sent variables may be meant for it; `undefined` for a variable
 * without an error.
 */
function problemOf (name: string, mistakes: readonly Mistake[]): string | undefined {
  const isOfIt = (path = '') => path === `variables.${name}` || path.startsWith(`variables.${name}.`) || path.startsWith(`variables.${name}[`)
  const mistake = mistakes.find(({ path, severity }) => severity === 'error' && isOfIt(path))
  if (mistake === undefined) return undefined
  return mistake.near === undefined ? mistake.code === 'VARIABLE_MISSING' ? t.missing : mistake.message : t.missingNear(mistake.near)
}

/** A dialog in which the author edits the values of all variables at once, as JSON. */
function PasteJson ({ id, values, onClose, onTake }: {
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
