import { useRef, useState } from 'react'
import { type Bundle, type Mistake, type Tried } from '../api/preview.ts'
import { t } from '../text/text.ts'
import { type Field } from './parameters.ts'
import { PasteJson } from './paste-json.tsx'
import { ValueField } from './value-field.tsx'

export interface VariablesFormProps {
  readonly id: string
  readonly fields: readonly Field[]
  readonly tried: Tried
  /** Whether the prompt has a placeholder for a conversation. */
  readonly hasHistory: boolean
  readonly onChange: (tried: Tried) => void
  readonly mistakes: readonly Mistake[]
  readonly onBundle: (bundle: Bundle) => void
}

/** The form with the values for a preview of a prompt. An empty field is not sent. */
export function VariablesForm ({ id, fields, tried, hasHistory, onChange, mistakes, onBundle }: VariablesFormProps) {
  const [isPasting, setPasting] = useState(false)
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
                id={`v-${field.name}`}
                field={field}
                value={values[field.name]}
                onChange={value => { set(field.name, value) }}
                problem={problemOf(field.name, mistakes)}
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
      {isPasting && <PasteJson id={id} values={values} onClose={() => { setPasting(false) }} onTake={take} />}
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
