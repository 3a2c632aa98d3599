import { useEffect, useRef, useState } from 'react'
import { useMay } from '../api/caller.ts'
import type { Bundle, Mistake, Tried } from '../api/preview.ts'
import { Editor } from '../edit/editor.tsx'
import type { Place, Remark } from '../edit/remarks.ts'
import type { PromptNames } from '../edit/template-names.ts'
import { Icon } from '../parts/icons.tsx'
import { number } from '../parts/time.ts'
import { t, withTexts } from '../text/text.ts'
import { keepTried, readTried } from './tried.ts'
import { type Entry, hasHistory, type Message, nameOf, ROLES, storedForm, type Syntax, syntaxOf, textOf, triedBy } from './entry.ts'
import { fieldsOf } from './parameters.ts'
import type { Playground as PlaygroundOf } from './play/playground.tsx'
import { type Pointed, PreviewPane } from './preview-pane.tsx'
import type { CaseDialog as CaseDialogOf, ProposedCase } from './tests/case-dialog.tsx'
import type { Workpiece } from './use-draft.ts'
import { usePreview } from './use-preview.ts'
import { VariablesForm } from './variables-form.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'

const Playground = lazyPart(async () => (await withTexts('tabs', import('./play/playground.tsx'))).Playground) as typeof PlaygroundOf
const CaseDialog = lazyPart(async () => (await withTexts('tabs', import('./play/playground.tsx'))).CaseDialog) as typeof CaseDialogOf

/** The tab in which an author writes a prompt: the messages on the left, the variables and the preview on the right. */
export function Workbench ({ id, piece, place }: { readonly id: string, readonly piece: Workpiece, readonly place: Place & { readonly message: number } }) {
  const { entry, edit } = piece
  const mayWrite = useMay('write')
  const mayChat = useMay('chat')
  const [kept, setKept] = useState(() => readTried(id))
  const [pointed, setPointed] = useState<Pointed>()
  const [caret, setCaret] = useState<{ readonly message: number, readonly offset: number }>()
  const prompt = storedForm(entry)
  const tried = triedBy(entry, kept)
  const preview = usePreview(id, prompt, tried, mayWrite)
  const askAll = useRef(() => {})
  const [proposed, setProposed] = useState<ProposedCase>()
  const syntax = syntaxOf(entry, piece.stored?.syntax)
  const mistakes = preview.latest?.diagnostics ?? []
  const fields = fieldsOf(entry.settings['parameters'], preview.needs?.variables)
  const change = (next: Tried) => {
    setKept(next)
    keepTried(id, next)
  }
  const isStored = piece.stored !== undefined
  const ask = () => { askAll.current() }
  const propose = () => {
    const leftOut = tried.messages === undefined ? [] : [t.conversation]
    setProposed({ base: { vars: tried.variables }, expectation: { type: '', value: '' }, isOfDraft: piece.isDraft, leftOut })
  }
  useWorkbenchKeys(() => { void preview.renderLive() }, ask)
  const keys = useMessageKeys(entry.messages)
  const move = (index: number, step: 1 | -1) => {
    keys.swap(index, index + step)
    edit({ ...entry, messages: swapped(entry.messages, index, index + step) })
  }
  const remove = (index: number) => {
    const removed = entry.messages[index] as Message
    keys.remove(index)
    piece.editing.alter(t.messageRemoved(index + 1), { ...entry, messages: entry.messages.filter((_, other) => other !== index) }, now => {
      keys.insert(index)
      return { ...now, isText: false, messages: now.messages.toSpliced(index, 0, removed) }
    })
  }
  return (
    <div className='split halves bench'>
      <div className='stack'>
        {entry.messages.map((message, index) => (
          <MessagePanel
            key={keys.of(index)}
            message={message}
            isText={entry.isText}
            syntax={syntax}
            index={index}
            count={entry.messages.length}
            remarks={mistakes.filter(mistake => isIn(mistake, index))}
            names={{ fields, values: kept.variables, needs: preview.needs }}
            marked={pointed?.message === index && pointed.span.partial === undefined && pointed.span.part === undefined ? pointed.span.source : undefined}
            focusAt={place.line > 0 && place.message === index ? place : undefined}
            onChange={mayWrite ? changed => { edit({ ...entry, messages: entry.messages.map((other, at) => at === index ? changed : other) }) } : undefined}
            onMove={step => { move(index, step) }}
            onRemove={() => { remove(index) }}
            onCaret={offset => { setCaret(offset === undefined || typeof message.content !== 'string' ? undefined : { message: index, offset }) }}
          />
        ))}
        {mayWrite && <button type='button' className='button start' onClick={() => { edit(withMessage(entry)) }}><Icon name='plus' />{t.addMessage}</button>}
        <Mistakes mistakes={mistakes} />
      </div>
      <div className='stack'>
        <VariablesForm
          id={id}
          fields={fields}
          tried={kept}
          hasHistory={hasHistory(entry)}
          onChange={change}
          mistakes={mistakes}
          isAsked={preview.isAsked}
          onCase={mayWrite && isStored ? propose : undefined}
          onBundle={(bundle: Bundle) => { preview.setKnown(bundle); change({ variables: bundle.variables, messages: bundle.history }) }}
        />
        {mayWrite
          ? <PreviewPane
              state={preview}
              pointed={pointed}
              onPoint={setPointed}
              caret={caret}
              onAsk={mayChat ? ask : undefined}
            />
          : <p className='note'>{t.previewNeedsWrite}</p>}
      </div>
      {mayChat && (
        <>
          <Playground
            question={{ id, isDraft: piece.isDraft || !isStored, entry, tried, render: preview.renderLive }}
            isStored={isStored}
            hasTools={(preview.needs?.tools.length ?? 0) > 0 || Object.hasOwn(entry.settings['defaults'] ?? {}, 'toolLoop')}
            askAll={askAll}
            onCase={setProposed}
          />
        </>
      )}
      {proposed !== undefined && <CaseDialog id={id} proposed={proposed} onClose={() => { setProposed(undefined) }} />}
    </div>
  )
}

/** Whether a mistake is in the own text of the message with this index. Mistakes in partials are listed below the editors. */
function isIn ({ messageIndex = 0, part, in: partial, path, field }: Mistake, index: number): boolean {
  return messageIndex === index && part === undefined && partial === undefined && field === undefined && (path === undefined || path.startsWith('variables'))
}

function withMessage (entry: Entry): Entry {
  const messages = entry.isText ? entry.messages.map(({ content }): Message => ({ role: 'user', content })) : entry.messages
  return { ...entry, isText: false, messages: [...messages, { role: messages.at(-1)?.role === 'user' ? 'assistant' : 'user', content: '' }] }
}

function swapped (messages: readonly Message[], one: number, other: number): readonly Message[] {
  const result = [...messages]
  const [first, second] = [result[one], result[other]]
  if (first !== undefined && second !== undefined) [result[one], result[other]] = [second, first]
  return result
}

/** Gives each message a key that it keeps when messages are moved. So each editor keeps the history of its changes. */
function useMessageKeys (messages: readonly Message[]) {
  const keys = useRef<number[]>([])
  const next = useRef(0)
  while (keys.current.length < messages.length) keys.current.push(next.current++)
  keys.current.length = messages.length
  return {
    of: (index: number) => keys.current[index],
    swap: (one: number, other: number) => { [keys.current[one], keys.current[other]] = [keys.current[other] as number, keys.current[one] as number] },
    remove: (index: number) => { keys.current.splice(index, 1) },
    insert: (index: number) => { keys.current.splice(index, 0, next.current++) }
  }
}

/** The keys of the workbench, wherever the focus is: Ctrl+Enter renders with calls of the tools, Ctrl+Shift+Enter asks the model. */
function useWorkbenchKeys (render: () => void, ask: () => void): void {
  const calls = useRef({ render, ask })
  calls.current = { render, ask }
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
      event.preventDefault()
      if (event.shiftKey) calls.current.ask()
      else calls.current.render()
    }
    addEventListener('keydown', press)
    return () => { removeEventListener('keydown', press) }
  }, [])
}

/**
 * Lists the mistakes and remarks of a preview, each with its place and a hint. Those about variables are left out, since the form shows
 * them beside its fields.
 */
function Mistakes ({ mistakes }: { readonly mistakes: readonly Mistake[] }) {
  return (
    <div className='stack tight' aria-live='polite'>
      {mistakes.filter(({ path }) => path === undefined || !path.startsWith('variables')).map((mistake, index) => (
        <div key={index} className={`note ${mistake.severity === 'error' ? 'bad' : mistake.severity === 'warning' ? 'warn' : ''}`}>
          <Icon name='problems' />
          <span className='wrap'>{placeOf(mistake)}{mistake.message}{mistake.hint !== '' && <> · {mistake.hint}</>}</span>
        </div>
      ))}
    </div>
  )
}

function placeOf ({ line, column, messageIndex, part, in: partial, field }: Mistake): string {
  if (field !== undefined) return `${field}: `
  const where = partial === undefined ? messageIndex === undefined ? '' : `${t.messageNumber(messageIndex + 1)}, ` : `${partial}, `
  return `${where}${part === undefined ? '' : `${t.partNumber(part + 1)}, `}${t.lineColumn(line, column)}: `
}

/** A panel that edits one message of a prompt: its role and its template. */
function MessagePanel ({ message, isText, syntax, index, count, remarks, names, marked, focusAt, onChange, onMove, onRemove, onCaret }: {
  readonly message: Message
  readonly isText: boolean
  readonly syntax: Syntax
  readonly index: number
  readonly count: number
  readonly remarks: readonly Remark[]
  readonly names: PromptNames
  readonly marked: { readonly from: number, readonly to: number } | undefined
  readonly focusAt: Place | undefined
  readonly onChange: ((message: Message) => void) | undefined
  readonly onMove: (step: 1 | -1) => void
  readonly onRemove: () => void
  readonly onCaret: (offset: number | undefined) => void
}) {
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
        names={names}
        marked={marked}
        focusAt={focusAt}
        onCaret={onCaret}
        {...(onChange === undefined || isJson ? {} : { onChange: (content: string) => { onChange({ ...message, content }) } })}
      />
    </section>
  )
}
