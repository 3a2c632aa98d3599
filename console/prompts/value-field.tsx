import { useEffect, useState } from 'react'
import { t } from '../text/text.ts'
import { type Field } from './parameters.ts'

/** A field for one value, in the form that suits the type of the value. */
export function ValueField ({ id, field, value, onChange, problem, onTouch, half, onHalf, isDisabled = false }: {
  readonly id: string
  readonly field: Field
  readonly value: unknown
  readonly onChange: (value: unknown) => void
  readonly problem: string | undefined
  /** Called when the person leaves the field. */
  readonly onTouch?: () => void
  /** A typed text that is no value yet, where somebody keeps it: `onHalf` is told of it. */
  readonly half?: string | undefined
  readonly onHalf?: (text: string) => void
  readonly isDisabled?: boolean
}) {
  const { name, type, isRequired, values, standard, description } = field
  const kind = values === undefined
    ? {
        string: t.typeText,
        number: t.typeNumber,
        integer: t.typeNumber,
        boolean: t.typeSwitch,
        json: 'JSON'
      }[type]
    : t.typeOneOf(values.length)
  const [own, setLocal] = useState<{ readonly text: string, readonly isWrong: boolean }>()
  const local = half === undefined ? own : { text: half, isWrong: true }
  const shared = {
    id,
    disabled: isDisabled,
    onBlur: onTouch,
    'aria-invalid': problem === undefined && local?.isWrong !== true ? undefined : true,
    'aria-describedby': `${id}-hint`
  }
  // When the value has changed, the field shows it in place of the typed text, unless the typed text cannot be parsed.
  useEffect(() => { setLocal(before => before?.isWrong === true ? before : undefined) }, [value])
  const placeholder = standard === undefined ? undefined : typeof standard === 'string' ? standard : JSON.stringify(standard)
  const input = () => {
    if (values !== undefined) {
      return (
        <select
          className='field'
          {...shared}
          value={value === undefined ? '' : JSON.stringify(value)}
          onChange={event => { onChange(event.target.value === '' ? undefined : JSON.parse(event.target.value)) }}
        >
          <option value=''>{placeholder === undefined ? '' : t.standardOf(placeholder)}</option>
          {values.map(each => <option key={JSON.stringify(each)} value={JSON.stringify(each)}>{String(each)}</option>)}
        </select>
      )
    }
    if (type === 'boolean') {
      return (
        <select
          className='field'
          {...shared}
          value={value === undefined ? '' : String(value)}
          onChange={event => { onChange(event.target.value === '' ? undefined : event.target.value === 'true') }}
        >
          <option value=''>{placeholder === undefined ? '' : t.standardOf(placeholder)}</option>
          <option value='true'>{t.yes}</option>
          <option value='false'>{t.no}</option>
        </select>
      )
    }
    if (type === 'number' || type === 'integer') {
      return (
        <input
          className='field num'
          {...shared}
          inputMode='decimal'
          placeholder={placeholder}
          value={local?.text ?? (value === undefined ? '' : String(value))}
          onChange={event => { takeNumber(event.target.value) }}
        />
      )
    }
    if (type === 'json') {
      return (
        <textarea
          className='field mono'
          {...shared}
          rows={3}
          spellCheck={false}
          placeholder={placeholder}
          value={local?.text ?? (value === undefined ? '' : JSON.stringify(value, null, 1))}
          onChange={event => { takeJson(event.target.value) }}
        />
      )
    }
    const text = value === undefined ? '' : typeof value === 'string' ? value : JSON.stringify(value)
    return (
      <textarea
        className='field growing'
        {...shared}
        rows={1}
        placeholder={placeholder}
        value={text}
        onChange={event => { onChange(event.target.value === '' ? undefined : event.target.value) }}
      />
    )
  }
  const takeNumber = (text: string) => {
    if (text.trim() !== '' && !Number.isFinite(Number(text))) takeHalf(text)
    else {
      setLocal({ text, isWrong: false })
      onChange(text.trim() === '' ? undefined : Number(text))
    }
  }
  const takeJson = (text: string) => {
    try {
      const parsed: unknown = text.trim() === '' ? undefined : JSON.parse(text)
      setLocal({ text, isWrong: false })
      onChange(parsed)
    } catch {
      takeHalf(text)
    }
  }
  const takeHalf = (text: string) => {
    if (onHalf === undefined) setLocal({ text, isWrong: true })
    else onHalf(text)
  }
  return (
    <div className={type === 'json' ? 'whole' : undefined}>
      <label htmlFor={id}>{name} <span className='quiet'>{kind}{isRequired && `, ${t.required}`}</span></label>
      {input()}
      <p className={problem === undefined && local?.isWrong !== true ? 'hint' : 'hint bad'} id={`${id}-hint`}>
        {problem ?? (local?.isWrong === true ? t.notReadable : description ?? '')}
      </p>
    </div>
  )
}
