import { useEffect, useRef, useState } from 'react'
import { useMay } from '../api/caller.ts'
import { type Bundle, type Mistake, type Span, type Tried } from '../api/preview.ts'
import { type Place } from '../edit/remarks.ts'
import { Icon } from '../parts/icons.tsx'
import { t } from '../text/text.ts'
import { AnswerPane } from './answer-pane.tsx'
import { keepTried, readTried } from './draft.ts'
import { type Entry, hasHistory, type Message, storedForm, syntaxOf, triedBy } from './entry.ts'
import { MessagePanel } from './message-panel.tsx'
import { Mistakes } from './mistakes.tsx'
import { fieldsOf } from './parameters.ts'
import { PreviewPane } from './preview-pane.tsx'
import { useAnswer } from './use-answer.ts'
import { type Workpiece } from './use-draft.ts'
import { usePreview } from './use-preview.ts'
import { VariablesForm } from './variables-form.tsx'

/** The piece of the preview to which the user points, with the index of its message. */
export interface Pointed { readonly message: number, readonly span: Span }

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
  const answer = useAnswer(id)
  const syntax = syntaxOf(entry, piece.stored?.value.syntax)
  const mistakes = preview.latest?.diagnostics ?? []
  const change = (next: Tried) => {
    setKept(next)
    keepTried(id, next)
  }
  const ask = () => { void answer.ask({ isDraft: piece.isDraft, entry, tried, render: preview.renderLive }) }
  useWorkbenchKeys(() => { void preview.renderLive() }, ask)
  const keys = useMessageKeys(entry.messages)
  const move = (index: number, step: 1 | -1) => {
    keys.swap(index, index + step)
    edit({ ...entry, messages: swapped(entry.messages, index, index + step) })
  }
  const remove = (index: number) => {
    keys.remove(index)
    edit({ ...entry, messages: entry.messages.filter((_, other) => other !== index) })
  }
  return (
    <div className='split halves'>
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
          fields={fieldsOf(entry.settings['parameters'], preview.latest?.needs?.variables)}
          tried={kept}
          hasHistory={hasHistory(entry)}
          onChange={change}
          mistakes={mistakes}
          onBundle={(bundle: Bundle) => { preview.setKnown(bundle); change({ variables: bundle.variables, messages: bundle.history }) }}
        />
        {mayWrite
          ? <PreviewPane
              state={preview}
              pointed={pointed}
              onPoint={setPointed}
              caret={caret}
              onAsk={mayChat ? ask : undefined}
              isAsking={answer.isBusy}
            />
          : <p className='note'>{t.previewNeedsWrite}</p>}
        <AnswerPane answer={answer} />
      </div>
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
    remove: (index: number) => { keys.current.splice(index, 1) }
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
