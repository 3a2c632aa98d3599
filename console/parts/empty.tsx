import { type ReactNode } from 'react'

/** What is said where nothing is: what would be here, and what can be done about it. */
export function Empty ({ title, children }: { readonly title: string, readonly children?: ReactNode }) {
  return <div className='empty'><h2>{title}</h2><div className='quiet'>{children}</div></div>
}
