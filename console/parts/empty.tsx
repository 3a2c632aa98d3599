import { type ReactNode } from 'react'

/** Shown in place of an empty list: tells what the list would contain, and what the user can do. */
export function Empty ({ title, children }: { readonly title: string, readonly children?: ReactNode }) {
  return <div className='empty'><h2>{title}</h2><div className='quiet'>{children}</div></div>
}
