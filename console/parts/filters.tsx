import { type ReactNode } from 'react'
import { number } from './time.ts'
import { t } from '../text/text.ts'

export interface FiltersProps {
  /** What is filtered by; the field has no other name. */
  readonly label: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly onEnter?: () => void
  /** How many rows are shown, of how many that fit. */
  readonly count?: readonly [shown: number, all: number]
  /** Further choices. */
  readonly children?: ReactNode
}

/** The field above a list that leaves in it what fits, and how much that is. */
export function Filters ({ label, value, onChange, onEnter, count, children }: FiltersProps) {
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

/** A choice above a list. @param options the first means all */
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
