import { type ReactNode } from 'react'
import { t } from '../text/text.ts'

/** A column: its name, and how it stands: `wide` goes in a narrow window, `right` is for numbers. What can be done with a row has no name that is seen. */
export type Column = string | readonly [name: string, className: 'wide' | 'right' | 'right wide']

/** Rows in a panel, under the names of their columns. */
export function Table ({ columns, children }: { readonly columns: readonly Column[], readonly children: ReactNode }) {
  return <div className='panel'><Rows columns={columns}>{children}</Rows></div>
}

/** The same within a panel. */
export function Rows ({ columns, children }: { readonly columns: readonly Column[], readonly children: ReactNode }) {
  return (
    <table>
      <thead>
        <tr>
          {columns.map(column => {
            const [name, className] = typeof column === 'string' ? [column, undefined] : column
            return <th key={name} scope='col' className={className}>{name === '' ? <span className='unseen'>{t.actions}</span> : name}</th>
          })}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  )
}
