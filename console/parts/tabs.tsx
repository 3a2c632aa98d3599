import { type ReactNode } from 'react'
import { Link } from 'wouter'

/** Links to the parts of one screen, each of which has its own address. */
export function Tabs ({ tabs, label }: {
  readonly tabs: ReadonlyArray<{ readonly href: string, readonly name: ReactNode, readonly isHere: boolean }>
  readonly label: string
}) {
  return (
    <nav className='tabs' aria-label={label}>
      {tabs.map(({ href, name, isHere }) => <Link key={href} href={href} replace aria-current={isHere ? 'page' : undefined}>{name}</Link>)}
    </nav>
  )
}
