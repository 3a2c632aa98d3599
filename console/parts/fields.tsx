import { type ReactNode, useId } from 'react'
import { t } from '../text/text.ts'

interface FieldProps {
  /** The id of the input element, to which the label refers. */
  readonly id: string
  readonly label: ReactNode
  readonly hint?: ReactNode
  readonly isRequired?: boolean
  readonly value: string
  readonly onChange: (value: string) => void
}

function Labelled ({ id, label, hint, isRequired = false, children }: Omit<FieldProps, 'value' | 'onChange'> & { readonly children: ReactNode }) {
  return (
    <div>
      <label htmlFor={id}>{label} {isRequired && <span className='quiet'>{t.required}</span>}</label>
      {children}
      {hint !== undefined && <p className='hint'>{hint}</p>}
    </div>
  )
}

/** A field for a text of one or several lines, with a label above it. */
export function TextField ({ rows = 1, isMono = false, most, ...field }: FieldProps & {
  readonly rows?: number
  readonly isMono?: boolean
  readonly most?: number
}) {
  const { id, isRequired = false, value, onChange } = field
  const shared = {
    id,
    className: isMono ? 'field mono' : 'field',
    required: isRequired,
    value,
    spellCheck: !isMono,
    maxLength: most
  }
  return (
    <Labelled {...field}>
      {rows === 1
        ? <input {...shared} autoComplete='off' onChange={event => { onChange(event.target.value) }} />
        : <textarea {...shared} rows={rows} onChange={event => { onChange(event.target.value) }} />}
    </Labelled>
  )
}

/** A field with a list of options, with a label above it. @param children the options */
export function SelectField ({ children, ...field }: FieldProps & { readonly children: ReactNode }) {
  const { id, value, onChange } = field
  return (
    <Labelled {...field}>
      <select id={id} className='field' value={value} onChange={event => { onChange(event.target.value) }}>{children}</select>
    </Labelled>
  )
}

/** The field in which a person types the name of what a press would change or delete. */
export function TypedName ({ name, ...field }: { readonly name: string, readonly value: string, readonly onChange: (typed: string) => void }) {
  const id = useId()
  return <TextField {...field} id={id} label={<>{t.typeToConfirm} <code>{name}</code></>} isMono />
}
