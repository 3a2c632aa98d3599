import { useState } from 'react'
import type { Editing } from '../edit/use-edited.ts'
import { Icon } from '../parts/icons.tsx'
import { t } from '../text/text.ts'
import { addParameter, besideOf, type Change, changeParameter, othersOf, type Parameter, readParameters, removeParameter } from './declared.ts'
import type { Field } from './parameters.ts'
import { ValueField } from './value-field.tsx'

type Half = NonNullable<Editing<unknown>['state']>['half']

/**
 * The form for the parameters of a prompt, in whatever form they are declared. What it cannot express is shown as JSON, and stays.
 * @param half a text that cannot be read yet, in this form or elsewhere @param onHalf keeps such a text with the draft
 */
export function ParametersForm ({ declared, onChange, half, onHalf }: {
  readonly declared: unknown
  readonly onChange: ((declared: unknown) => void) | undefined
  readonly half: Half
  readonly onHalf: (of: string, text: string) => void
}) {
  const parameters = readParameters(declared)
  const beside = besideOf(declared)
  const names = parameters?.map(({ name }) => name) ?? []
  return (
    <section className='panel' aria-label={t.parameters}>
      <header>
        <h2>{t.parameters}</h2><span className='quiet num'>{names.length > 0 && names.length}</span><span className='grow' />
        {parameters !== undefined && onChange !== undefined && (
          <button type='button' className='button small' disabled={half !== undefined} onClick={() => { onChange(addParameter(declared, freeName(names))) }}>
            <Icon name='plus' />
            {t.addParameter}
          </button>
        )}
      </header>
      {parameters === undefined && <Kept value={declared} />}
      {parameters?.length === 0 && <p className='body quiet'>{t.noParameters}</p>}
      {parameters?.map((parameter, index) => (
        <ParameterFields
          // A parameter keeps its fields while its name is typed.
          key={index}
          index={index}
          parameter={parameter}
          others={names.filter((_, at) => at !== index)}
          half={half}
          onHalf={onHalf}
          onChange={onChange === undefined ? undefined : change => { onChange(changeParameter(declared, index, change)) }}
          onRemove={onChange === undefined ? undefined : () => { onChange(removeParameter(declared, index)) }}
        />
      ))}
      {Object.keys(beside).length > 0 && <Kept value={beside} />}
    </section>
  )
}

function freeName (names: readonly string[]): string {
  for (let number = names.length + 1; ; number++) if (!names.includes(`parameter${number}`)) return `parameter${number}`
}

/** JSON that no field of a form expresses; it stays as it is. */
export function Kept ({ value }: { readonly value: unknown }) {
  return <div className='body whole'><p className='hint'>{t.keptAsJson}</p><pre className='text'>{JSON.stringify(value, null, 2)}</pre></div>
}

const TYPES = ['string', 'number', 'integer', 'boolean', 'array', 'object'] as const

function ParameterFields ({ index, parameter: { name, schema, isRequired, source }, others, half, onHalf, onChange, onRemove }: {
  readonly index: number
  readonly parameter: Parameter
  readonly others: readonly string[]
  readonly half: Half
  readonly onHalf: (of: string, text: string) => void
  readonly onChange: ((change: Change) => void) | undefined
  readonly onRemove: (() => void) | undefined
}) {
  if (schema === undefined) return <div className='item'><Kept value={name === '' ? source : { [name]: source }} /></div>
  const id = (part: string) => `parameter ${index} ${part}`
  const halfOf = (part: string) => half?.of === id(part) ? half.text : undefined
  const isOff = (part: string) => onChange === undefined || (half !== undefined && half.of !== id(part))
  const set = (change: Readonly<Record<string, unknown>>) => { onChange?.({ schema: change }) }
  const { type, description, enum: values, default: standard } = schema
  const rest = othersOf(schema)
  const typedName = halfOf('name') ?? name
  const rename = (next: string) => {
    if (next === '' || others.includes(next)) onHalf(id('name'), next)
    else onChange?.({ name: next })
  }
  const wrongName = halfOf('name') === undefined ? undefined : typedName === '' ? t.nameMissing : t.nameTaken
  const isKnownType = type === undefined || TYPES.some(each => each === type)
  return (
    <fieldset className='item'>
      <legend className='unseen'>{t.parameterOf(name)}</legend>
      <div className='form'>
        <div>
          <label htmlFor={id('name')}>{t.name}</label>
          <input
            id={id('name')}
            className='field mono'
            autoComplete='off'
            spellCheck={false}
            aria-invalid={wrongName === undefined ? undefined : true}
            aria-describedby={id('name hint')}
            disabled={isOff('name')}
            value={typedName}
            onChange={event => { rename(event.target.value) }}
          />
          <p className='hint bad' id={id('name hint')}>{wrongName}</p>
        </div>
        <div>
          <label htmlFor={id('type')}>{t.type}</label>
          <select
            id={id('type')}
            className='field'
            disabled={isOff('type')}
            value={isKnownType ? String(type ?? '') : OTHER}
            onChange={event => { set({ type: event.target.value === '' ? undefined : event.target.value }) }}
          >
            <option value=''>{t.anyType}</option>
            {TYPES.map(each => <option key={each} value={each}>{t.typeName(each)}</option>)}
            {!isKnownType && <option value={OTHER} disabled>{JSON.stringify(type)}</option>}
          </select>
        </div>
        <label className='choice row' htmlFor={id('required')}>
          <input
            id={id('required')}
            type='checkbox'
            disabled={isOff('required')}
            checked={isRequired}
            onChange={event => { onChange?.({ isRequired: event.target.checked }) }}
          />
          {t.isRequired}
        </label>
        <div className='whole'>
          <label htmlFor={id('description')}>{t.description}</label>
          {typeof description === 'string' || description === undefined
            ? (
              <input
                id={id('description')}
                className='field'
                autoComplete='off'
                disabled={isOff('description')}
                value={description ?? ''}
                onChange={event => { set({ description: event.target.value === '' ? undefined : event.target.value }) }}
              />
              )
            : <pre className='text' id={id('description')}>{JSON.stringify(description)}</pre>}
        </div>
        <ValueField
          key={fieldType(type, standard)}
          id={id('default')}
          field={{ name: t.default, type: fieldType(type, standard), isRequired: false, isLong: false, values: listed(values) }}
          value={standard}
          isDisabled={isOff('default')}
          half={halfOf('default')}
          onHalf={text => { onHalf(id('default'), text) }}
          onChange={value => { set({ default: value }) }}
          problem={undefined}
        />
        {isLines(type, values)
          ? (
            <Lines
              id={id('enum')}
              values={values ?? []}
              isDisabled={isOff('enum')}
              onChange={lines => { set({ enum: lines.length === 0 ? undefined : lines }) }}
            />
            )
          : (
            <ValueField
              id={id('enum')}
              field={{ name: t.allowedValues, type: 'json', isRequired: false, isLong: false, description: t.allowedAsJson }}
              value={values}
              isDisabled={isOff('enum')}
              half={halfOf('enum')}
              onHalf={text => { onHalf(id('enum'), text) }}
              onChange={value => { set({ enum: value }) }}
              problem={undefined}
            />
            )}
        {Object.keys(rest).length > 0 && <Kept value={rest} />}
      </div>
      {onRemove !== undefined && (
        <button type='button' className='button plain small' disabled={half !== undefined} aria-label={t.removeOf(name)} onClick={onRemove}>{t.remove}</button>
      )}
    </fieldset>
  )
}

/** The value of the option for a type that the list of types does not have. */
const OTHER = 'other'

/** A default that is not of the declared type is shown as JSON, so that it is not taken for a text. */
function fieldType (type: unknown, value: unknown): Field['type'] {
  const is = typeof value
  switch (type) {
    case 'number':
    case 'integer': return value === undefined || is === 'number' ? type : 'json'
    case 'boolean': return value === undefined || is === 'boolean' ? type : 'json'
    case 'string':
    case undefined: return value === undefined || is === 'string' ? 'string' : 'json'
    default: return 'json'
  }
}

function listed (values: unknown): Field['values'] {
  return Array.isArray(values) && values.length > 0 ? values as readonly unknown[] : undefined
}

/** Whether the allowed values can be typed as texts, each on a line of its own. */
function isLines (type: unknown, values: unknown): values is readonly string[] | undefined {
  if (values === undefined) return type === undefined || type === 'string'
  return Array.isArray(values) && values.every(value => typeof value === 'string' && value !== '' && !value.includes('\n') && value === value.trim())
}

function Lines ({ id, values, isDisabled, onChange }: {
  readonly id: string
  readonly values: readonly string[]
  readonly isDisabled: boolean
  readonly onChange: (lines: readonly string[]) => void
}) {
  // A line that has just been begun is no value yet, and stays on the screen.
  const [typed, setTyped] = useState('')
  const text = linesOf(typed).join('\n') === values.join('\n') ? typed : values.join('\n')
  return (
    <div>
      <label htmlFor={id}>{t.allowedValues}</label>
      <textarea
        id={id}
        className='field growing'
        rows={1}
        disabled={isDisabled}
        value={text}
        onChange={event => {
          setTyped(event.target.value)
          onChange(linesOf(event.target.value))
        }}
      />
      <p className='hint'>{t.oneALine}</p>
    </div>
  )
}

const linesOf = (text: string): readonly string[] => text.split('\n').map(line => line.trim()).filter(line => line !== '')
