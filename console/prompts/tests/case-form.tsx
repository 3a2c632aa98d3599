import { patch } from '../../edit/patch.ts'
import type { Editing } from '../../edit/use-edited.ts'
import { Icon } from '../../parts/icons.tsx'
import { t } from '../../text/text.ts'
import { isObject } from '../declared.ts'
import { Kept } from '../parameters-form.tsx'
import type { Field } from '../parameters.ts'
import { ValueField } from '../value-field.tsx'
import { type Case, nameOf } from './use-tests.ts'

interface Half {
  readonly half: NonNullable<Editing<unknown>['state']>['half']
  readonly onHalf: (of: string, text: string) => void
}

/** The form for test cases. What it cannot express is shown as JSON, and stays. @param fields of the variables of the prompt */
export function CasesForm ({ cases, fields, onChange, ...half }: Half & {
  readonly cases: readonly unknown[]
  readonly fields: readonly Field[]
  readonly onChange: ((cases: readonly unknown[]) => void) | undefined
}) {
  const isOff = onChange === undefined || half.half !== undefined
  return (
    <section className='panel' aria-label={t.casesForm}>
      <header>
        <h2>{t.casesForm}</h2><span className='quiet num'>{cases.length}</span><span className='grow' />
        {onChange !== undefined && (
          <button type='button' className='button small' disabled={isOff} onClick={() => { onChange([...cases, { vars: {}, assert: [] }]) }}>
            <Icon name='plus' />
            {t.addCase}
          </button>
        )}
      </header>
      {cases.map((testCase, index) => isObject(testCase)
        ? (
          <CaseFields
            key={index}
            index={index}
            testCase={testCase}
            fields={fields}
            onChange={onChange === undefined ? undefined : next => { onChange(cases.map((each, at) => at === index ? next : each)) }}
            onRemove={isOff ? undefined : () => { onChange(cases.filter((_, at) => at !== index)) }}
            {...half}
          />
          )
        : <div key={index} className='item'><Kept value={testCase} /></div>)}
    </section>
  )
}

const SHOWN = new Set(['description', 'run', 'vars', 'variables', 'tools', 'model', 'judge', 'assert'])
const TEXTS = ['tools', 'model', 'judge'] as const

function CaseFields ({ index, testCase, fields, onChange, onRemove, half, onHalf }: Half & {
  readonly index: number
  readonly testCase: Case
  readonly fields: readonly Field[]
  readonly onChange: ((testCase: Case) => void) | undefined
  readonly onRemove: (() => void) | undefined
}) {
  const id = (part: string) => `case ${index} ${part}`
  const isOff = (part: string) => onChange === undefined || (half !== undefined && half.of !== id(part))
  const set = (changes: Case) => { onChange?.(patch(testCase, changes)) }
  const halfOf = (part: string) => ({
    isDisabled: isOff(part),
    half: half?.of === id(part) ? half.text : undefined,
    onHalf: (text: string) => { onHalf(id(part), text) }
  })
  const { description, run, assert } = testCase
  const member = Object.hasOwn(testCase, 'variables') ? 'variables' : 'vars'
  const variables = testCase[member] ?? {}
  const rest = Object.fromEntries(Object.entries(testCase).filter(([name]) => !SHOWN.has(name) || (name === 'vars' && member === 'variables')))
  const name = nameOf(testCase, index)
  return (
    <fieldset className='item'>
      <legend className='unseen'>{name}</legend>
      <div className='form'>
        <TextLine
          id={id('description')}
          label={t.description}
          value={description}
          isDisabled={isOff('description')}
          onChange={text => { set({ description: text }) }}
        />
        <div>
          <label htmlFor={id('run')}>{t.whatIsTested}</label>
          <select
            id={id('run')}
            className='field'
            disabled={isOff('run')}
            value={typeof run === 'string' ? run : ''}
            onChange={event => { set({ run: event.target.value === '' ? undefined : event.target.value }) }}
          >
            <option value=''>{t.testedText}</option>
            <option value='chat'>{t.testedAnswer}</option>
            {typeof run === 'string' && run !== '' && run !== 'chat' && <option value={run}>{run}</option>}
          </select>
        </div>
        {isObject(variables)
          ? fieldsWith(fields, variables).map(field => (
            <ValueField
              key={`${field.name} ${field.type}`}
              id={id(`value ${field.name}`)}
              field={field}
              value={Object.hasOwn(variables, field.name) ? variables[field.name] : undefined}
              onChange={value => { set({ [member]: patch(variables, { [field.name]: value }) }) }}
              problem={undefined}
              {...halfOf(`value ${field.name}`)}
            />
          ))
          : <Kept value={{ [member]: variables }} />}
        {TEXTS.filter(each => each === 'tools' || run === 'chat' || Object.hasOwn(testCase, each)).map(each => (
          <TextLine
            key={each}
            id={id(each)}
            label={t.ofCase(each)}
            value={testCase[each]}
            isDisabled={isOff(each)}
            onChange={text => { set({ [each]: text }) }}
          />
        ))}
      </div>
      {Array.isArray(assert) || assert === undefined
        ? (
          <Assertions
            assertions={assert ?? []}
            id={id}
            isOff={isOff}
            halfOf={halfOf}
            onChange={next => { set({ assert: next }) }}
            isReadOnly={onChange === undefined}
          />
          )
        : <Kept value={{ assert }} />}
      {Object.keys(rest).length > 0 && <Kept value={rest} />}
      {onRemove !== undefined && <button type='button' className='button plain small' aria-label={t.removeOf(name)} onClick={onRemove}>{t.remove}</button>}
    </fieldset>
  )
}

/** The variables of the prompt, and those that only the case has. A value that is not of the declared type is shown as JSON. */
function fieldsWith (fields: readonly Field[], values: Readonly<Record<string, unknown>>): readonly Field[] {
  const known = new Set(fields.map(({ name }) => name))
  const others = Object.keys(values).filter(name => !known.has(name))
  return [...fields.map(field => fits(field, values[field.name]) ? field : { ...field, type: 'json' as const, values: undefined }), ...others.map(name => ({
    name,
    type: typeof values[name] === 'string' ? 'string' as const : 'json' as const,
    isRequired: false,
    isLong: false
  }))]
}

function fits ({ type, values }: Field, value: unknown): boolean {
  if (value === undefined || type === 'json') return true
  if (values !== undefined) return values.includes(value)
  const is = typeof value
  return is === (type === 'integer' ? 'number' : type)
}

/** A text that is left out where it is empty. */
function TextLine ({ id, label, value, isDisabled, onChange }: {
  readonly id: string
  readonly label: string
  readonly value: unknown
  readonly isDisabled: boolean
  readonly onChange: (text: string | undefined) => void
}) {
  if (typeof value !== 'string' && value !== undefined) return <Kept value={{ [label]: value }} />
  return (
    <div>
      <label htmlFor={id}>{label}</label>
      <input
        id={id}
        className='field'
        autoComplete='off'
        disabled={isDisabled}
        value={value ?? ''}
        onChange={event => { onChange(event.target.value === '' ? undefined : event.target.value) }}
      />
    </div>
  )
}

const NOT = 'not-'

/** What each kind of assertion looks at: the type of its value, whether it must have one, and whether it has a threshold. */
const KINDS: Readonly<Record<string, { readonly value?: Field['type'], readonly threshold?: boolean }>> = {
  contains: { value: 'string' },
  icontains: { value: 'string' },
  equals: { value: 'string' },
  'starts-with': { value: 'string' },
  regex: { value: 'string' },
  'is-json': { value: 'json' },
  'llm-rubric': { value: 'string', threshold: true },
  latency: { threshold: true }
}

function Assertions ({ assertions, id, isOff, halfOf, onChange, isReadOnly }: {
  readonly assertions: readonly unknown[]
  readonly id: (part: string) => string
  readonly isOff: (part: string) => boolean
  readonly halfOf: (part: string) => { readonly isDisabled: boolean, readonly half: string | undefined, readonly onHalf: (text: string) => void }
  readonly onChange: (assertions: readonly unknown[]) => void
  readonly isReadOnly: boolean
}) {
  const replace = (index: number, next: unknown) => { onChange(assertions.map((each, at) => at === index ? next : each)) }
  return (
    <div className='stack tight after'>
      <h3>{t.hasToHold}</h3>
      {assertions.length === 0 && <p className='quiet'>{t.nothingHasToHold}</p>}
      {assertions.map((assertion, index) => {
        const { type } = isObject(assertion) ? assertion : {}
        const kind = typeof type === 'string' ? type.replace(/^not-/, '') : ''
        const known = Object.hasOwn(KINDS, kind) ? KINDS[kind] : undefined
        if (!isObject(assertion) || known === undefined || typeof type !== 'string') return <Kept key={index} value={assertion} />
        const isNegated = type.startsWith(NOT)
        const rest = Object.fromEntries(Object.entries(assertion).filter(([name]) => !['type', 'value', 'threshold'].includes(name)))
        const part = (name: string) => `assertion ${index} ${name}`
        const valueType = known.value === 'string' && assertion['value'] !== undefined && typeof assertion['value'] !== 'string' ? 'json' : known.value
        return (
          <fieldset key={index} className='form bare'>
            <legend className='unseen'>{t.assertionNumber(index + 1)}</legend>
            <div>
              <label htmlFor={id(part('type'))}>{t.assertion}</label>
              <select
                id={id(part('type'))}
                className='field'
                disabled={isOff(part('type'))}
                value={kind}
                onChange={event => { replace(index, patch(assertion, { type: `${isNegated ? NOT : ''}${event.target.value}` })) }}
              >
                {Object.keys(KINDS).map(each => <option key={each} value={each}>{t.assertionName(each)}</option>)}
              </select>
            </div>
            {(valueType !== undefined || assertion['value'] !== undefined) && (
              <ValueField
                key={valueType}
                id={id(part('value'))}
                field={{ name: kind === 'is-json' ? t.schemaOfJson : t.value, type: valueType ?? 'json', isRequired: known.value === 'string', isLong: false }}
                value={assertion['value']}
                onChange={value => { replace(index, patch(assertion, { value })) }}
                problem={undefined}
                {...halfOf(part('value'))}
              />
            )}
            {(known.threshold === true || assertion['threshold'] !== undefined) && (
              <ValueField
                id={id(part('threshold'))}
                field={{ name: kind === 'latency' ? t.mostMs : t.leastScore, type: 'number', isRequired: kind === 'latency', isLong: false }}
                value={assertion['threshold']}
                onChange={threshold => { replace(index, patch(assertion, { threshold })) }}
                problem={undefined}
                {...halfOf(part('threshold'))}
              />
            )}
            <label className='choice row' htmlFor={id(part('not'))}>
              <input
                id={id(part('not'))}
                type='checkbox'
                disabled={isOff(part('not'))}
                checked={isNegated}
                onChange={event => { replace(index, patch(assertion, { type: `${event.target.checked ? NOT : ''}${kind}` })) }}
              />
              {t.mustNotHold}
            </label>
            {Object.keys(rest).length > 0 && <Kept value={rest} />}
            {!isReadOnly && (
              <button
                type='button'
                className='button plain small start'
                disabled={isOff('')}
                aria-label={t.removeOf(t.assertionNumber(index + 1))}
                onClick={() => { onChange(assertions.filter((_, at) => at !== index)) }}
              >
                {t.remove}
              </button>
            )}
          </fieldset>
        )
      })}
      {!isReadOnly && (
        <button type='button' className='button small start' disabled={isOff('')} onClick={() => { onChange([...assertions, { type: 'contains' }]) }}>
          <Icon name='plus' />
          {t.addAssertion}
        </button>
      )}
    </div>
  )
}
