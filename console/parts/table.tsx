import { type ReactNode } from 'react'
import { t } from '../text/text.ts'

/**
 * A column of a table: its name and its style. A narrow window leaves out a `wide` column; a `right` column has numbers. The name of the
 * column with buttons is `''`, and only a screen reader reads a name for it.
 */
type Column = string | readonly [name: string, className: 'wide' | 'right' | 'right wide']

/** A table in a panel of its own. */
export function Table ({ columns, children }: { readonly columns: readonly Column[], readonly children: ReactNode }) {
  return <div className='panel'><Rows columns={columns}>{children}</Rows></div>
}

/** A table for a panel that has other content, too. */
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
