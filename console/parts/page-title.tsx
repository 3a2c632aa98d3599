import { type ReactNode, useEffect } from 'react'

let [named, waiting] = ['', 0]

/** Names the browser's window after the screen, with what waits for the person before it: `(2) Prompts`. */
function nameWindow (title: string): void {
  named = title
  document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${named} · ai-prompt-shell`
}

/** @param count of what waits for the person, on any screen */
export function countInTitle (count: number): void {
  waiting = count
  nameWindow(named)
}

/** The head of a screen: links to the screens above it, its title, a note, and its buttons. The browser's window gets the same title. */
export function PageTitle ({ title, crumbs, children, note, mono = false }: {
  readonly title: string
  readonly crumbs?: ReactNode
  readonly note?: ReactNode
  readonly children?: ReactNode
  readonly mono?: boolean
}) {
  useEffect(() => { nameWindow(title) }, [title])
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
