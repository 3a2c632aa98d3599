import { Editor } from '../edit/editor.tsx'
import { type Place, type Remark } from '../edit/remarks.ts'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Message, nameOf, ROLES, type Syntax, textOf } from './entry.ts'

export interface MessagePanelProps {
  readonly message: Message
  readonly isText: boolean
  readonly syntax: Syntax
  readonly index: number
  readonly count: number
  readonly remarks: readonly Remark[]
  readonly marked: { readonly from: number, readonly to: number } | undefined
  readonly focusAt: Place | undefined
  readonly onChange: ((message: Message) => void) | undefined
  readonly onMove: (step: 1 | -1) => void
  readonly onRemove: () => void
  readonly onCaret: (offset: number | undefined) => void
}

/** A panel that edits one message of a prompt: its role and its template. */
export function MessagePanel ({ message, isText, syntax, index, count, remarks, marked, focusAt, onChange, onMove, onRemove, onCaret }: MessagePanelProps) {
  const name = isText ? t.text : nameOf(message)
  // Lists of parts, and placeholders, are shown as JSON. They are edited in the tab that shows the whole prompt as JSON.
  const isJson = typeof message.content !== 'string'
  const move = (event: React.KeyboardEvent) => {
    if (!event.altKey || (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') || isText) return
    const step = event.key === 'ArrowUp' ? -1 : 1
    if (index + step < 0 || index + step >= count) return
    event.preventDefault()
    onMove(step)
  }
  return (
    <section className='panel' aria-label={t.messageOf(index + 1, name)} onKeyDown={move}>
      <header>
        {isText || onChange === undefined || message.role === undefined
          ? <h2>{name}</h2>
          : (
            <select className='field role' aria-label={t.role} value={message.role} onChange={event => { onChange({ ...message, role: event.target.value }) }}>
              {ROLES.map(role => <option key={role}>{role}</option>)}
            </select>
            )}
        <span className='quiet num'>{t.characters(number(textOf(message).length))}</span>
        <span className='grow' />
        {!isText && onChange !== undefined && (
          <>
            {index > 0 && (
              <button type='button' className='button plain small' aria-label={t.moveUp} title={`${t.moveUp} (Alt+↑)`} onClick={() => { onMove(-1) }}>
                ↑
              </button>
            )}
            {index < count - 1 && (
              <button type='button' className='button plain small' aria-label={t.moveDown} title={`${t.moveDown} (Alt+↓)`} onClick={() => { onMove(1) }}>
                ↓
              </button>
            )}
            {count > 1 && <button type='button' className='button plain small' aria-label={t.remove} title={t.remove} onClick={onRemove}>✕</button>}
          </>
        )}
      </header>
      {isJson && <p className='body quiet'>{t.partsInRaw}</p>}
      <Editor
        value={textOf(message)}
        language={isJson ? 'json' : syntax}
        label={t.messageOf(index + 1, name)}
        remarks={remarks}
        marked={marked}
        focusAt={focusAt}
        onCaret={onCaret}
        {...(onChange === undefined || isJson ? {} : { onChange: (content: string) => { onChange({ ...message, content }) } })}
      />
    </section>
  )
}
