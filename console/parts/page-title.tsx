import { type ReactNode, useEffect } from 'react'

/** The head of a screen: links to the screens above it, its title, a note, and its buttons. The browser's window gets the same title. */
export function PageTitle ({ title, crumbs, children, note, mono = false }: {
  readonly title: string
  readonly crumbs?: ReactNode
  readonly note?: ReactNode
  readonly children?: ReactNode
  readonly mono?: boolean
}) {
  useEffect(() => { document.title = `${title} · ai-prompt-shell` }, [title])
  return (
    <div className='title'>
      <div className='grow'>
        {crumbs !== undefined && <div className='quiet crumbs'>{crumbs}</div>}
        <h1 className={mono ? 'wrap' : undefined}>{title}</h1>
        {note !== undefined && <div className='under'>{note}</div>}
      </div>
      {children}
    </div>
  )
}
