import { type ReactNode } from 'react'
import { number } from './time.ts'
import { t } from '../text/text.ts'

/** The field by which the user filters the rows of a list, with the number of rows that match. */
export function Filters ({ label, value, onChange, onEnter, count, children }: {
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly onEnter?: () => void
  readonly count?: readonly [shown: number, all: number]
  readonly children?: ReactNode
}) {
  return (
    <div className='filters'>
      <div className='filter'>
        <input
          className='field'
          placeholder={label}
          aria-label={label}
          value={value}
          onChange={event => { onChange(event.target.value) }}
          onKeyDown={event => { if (event.key === 'Enter') onEnter?.() }}
        />
      </div>
      {children}
      <span className='grow' />
      {count !== undefined && <span className='quiet num' role='status'>{t.rowsOf(Math.min(...count), number(count[1]))}</span>}
    </div>
  )
}

/** A field above a list by which the user chooses one group of rows. @param options the first one means all rows */
export function Choice ({ label, value, options, onChange }: {
  readonly label: string
  readonly value: string
  readonly options: ReadonlyArray<readonly [value: string, name: string]>
  readonly onChange: (value: string) => void
}) {
  return (
    <select className='field auto' aria-label={label} value={value} onChange={event => { onChange(event.target.value) }}>
      {options.map(([each, name]) => <option key={each} value={each}>{name}</option>)}
    </select>
  )
}
