import { history, historyKeymap, standardKeymap } from '@codemirror/commands'
import { StreamLanguage, type StringStream, syntaxHighlighting } from '@codemirror/language'
import { Annotation, Compartment, EditorState, Prec, StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, keymap, lineNumbers } from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'
import { useEffect, useRef, useState } from 'react'
import type { Syntax } from '../prompts/entry.ts'
import { t, withTexts } from '../text/text.ts'
import { jsonMode } from './json-mode.ts'
import { registry } from './registry.ts'
import { offsetOf, type Place, type Remark, remarkMarks, showRemarks } from './remarks.ts'
import type { PromptNames } from './template-names.ts'

/** Puts a frame around a part of the text; `undefined` removes the frame. */
const markRange = StateEffect.define<{ readonly from: number, readonly to: number } | undefined>()

const frame = Decoration.mark({ class: 'from here' })

const rangeMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update (marks, { changes, effects, newDoc }) {
    let now = marks.map(changes)
    for (const effect of effects) {
      if (!effect.is(markRange)) continue
      const to = Math.min(effect.value?.to ?? 0, newDoc.length)
      now = effect.value === undefined || effect.value.from >= to ? Decoration.none : Decoration.set([frame.range(effect.value.from, to)])
    }
    return now
  },
  provide: field => EditorView.decorations.from(field)
})

interface EditorProps {
  readonly value: string
  readonly onChange?: (value: string) => void
  readonly language: Syntax | 'json' | 'text'
  /** The name of the editor, which a screen reader reads aloud. */
  readonly label: string
  readonly remarks?: readonly Remark[]
  /** The part of the text with a frame: the expression that wrote the piece of the preview to which the user points. */
  readonly marked?: { readonly from: number, readonly to: number } | undefined
  /** Called with the offset of the caret in UTF-16 units, and with `undefined` when the editor loses the focus. */
  readonly onCaret?: (offset: number | undefined) => void
  readonly focusAt?: Place | undefined
  /** What the names in a template stand for: with it, the editor completes them and tells what they are. */
  readonly names?: PromptNames | undefined
}

/** Marks a change of the text that did not come from the user, so that `onChange` is not called for it. */
const told = Annotation.define<boolean>()

const nonce = document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content ?? ''

/** An editor of one text. The Tab key moves to the next element of the page, as it does in other fields; Esc leaves the editor. */
export function Editor ({ value, onChange, language, label, remarks, marked, onCaret, focusAt, names }: EditorProps) {
  const place = useRef<HTMLDivElement>(null)
  const view = useRef<EditorView>(null)
  const mode = useRef(new Compartment())
  const help = useRef(new Compartment())
  const [isHelpless, setHelpless] = useState(false)
  const calls = useRef({ onChange, onCaret, language, names })
  calls.current = { onChange, onCaret, language, names }

  useEffect(() => {
    const editor = new EditorView({
      parent: place.current as HTMLElement,
      state: EditorState.create({
        doc: value,
        extensions: [
          help.current.of([]),
          Prec.highest(keymap.of([{ key: 'Mod-Enter', run: () => true }, { key: 'Shift-Mod-Enter', run: () => true }, { key: 'Escape', run: leave }])),
          keymap.of([...standardKeymap, ...historyKeymap]),
          history(),
          lineNumbers(),
          EditorView.lineWrapping,
          syntaxHighlighting(classHighlighter),
          mode.current.of(modeOf(language)),
          remarkMarks,
          rangeMarks,
          EditorView.cspNonce.of(nonce),
          EditorView.contentAttributes.of({ 'aria-label': label, spellcheck: 'true', tabindex: '0' }),
          EditorState.readOnly.of(onChange === undefined),
          EditorView.updateListener.of(update => {
            const isTold = update.transactions.some(transaction => transaction.annotation(told))
            if (update.docChanged && !isTold) calls.current.onChange?.(update.state.doc.toString())
            if (!update.docChanged && !update.selectionSet && !update.focusChanged) return
            calls.current.onCaret?.(update.view.hasFocus ? update.state.selection.main.head : undefined)
          })
        ]
      })
    })
    view.current = editor
    return () => { editor.destroy() }
    // The editor is created once. The effects below pass later changes of the properties to it.
  }, [])

  useEffect(() => {
    const editor = view.current
    if (editor !== null && editor.state.doc.toString() !== value) {
      editor.dispatch({
        changes: { from: 0, to: editor.state.doc.length, insert: value },
        annotations: told.of(true)
      })
    }
  }, [value])
  useEffect(() => { view.current?.dispatch({ effects: mode.current.reconfigure(modeOf(language)) }) }, [language])
  const isTemplate = names !== undefined && (language === 'go' || language === 'handlebars')
  useEffect(() => {
    if (!isTemplate) return
    let isGone = false
    const read = () => ({ syntax: calls.current.language as Syntax, names: calls.current.names as PromptNames })
    withTexts('tabs', import('./assist.ts')).then(
      ({ assist }) => { if (!isGone) view.current?.dispatch({ effects: help.current.reconfigure(assist(read, registry)) }) },
      () => { if (!isGone) setHelpless(true) }
    )
    return () => { isGone = true }
  }, [isTemplate])
  useEffect(() => {
    view.current?.dispatch({ effects: showRemarks.of(remarks ?? []) })
  }, [remarks])
  useEffect(() => { view.current?.dispatch({ effects: markRange.of(marked) }) }, [marked?.from, marked?.to])
  useEffect(() => {
    const editor = view.current
    if (editor === null || focusAt === undefined) return
    editor.focus()
    editor.dispatch({ selection: { anchor: offsetOf(editor.state.doc, focusAt) }, scrollIntoView: true })
  }, [focusAt?.line, focusAt?.column])

  return (
    <>
      <div ref={place} className='editor' />
      {isHelpless && <p className='hint bad inside' role='status'>{t.noCompletion}</p>}
    </>
  )
}

function leave (editor: EditorView): boolean {
  editor.contentDOM.blur()
  return true
}

function modeOf (language: EditorProps['language']) {
  return language === 'json' ? jsonMode : language === 'text' ? [] : TEMPLATE_MODES[language]
}

/** The keywords in the tags of each template language. All other words in a tag are coloured as names. */
const WORDS: Readonly<Record<Syntax, ReadonlySet<string>>> = {
  go: new Set([
    'if',
    'else',
    'end',
    'range',
    'with',
    'define',
    'template',
    'block',
    'break',
    'continue',
    'and',
    'or',
    'not',
    'eq',
    'ne',
    'lt',
    'le',
    'gt',
    'ge',
    'len',
    'index',
    'print',
    'printf',
    'println',
    'nil',
    'true',
    'false',
    'default',
    'join',
    'toJson'
  ]),
  handlebars: new Set(['if', 'else', 'each', 'with', 'unless', 'lookup', 'as', 'this', 'true', 'false', 'null', 'undefined', 'default', 'join', 'inline'])
}

interface State { inTag: boolean, inComment: boolean, closes: string }

function readTag (stream: StringStream, state: State, words: ReadonlySet<string>): string | null {
  if (stream.match(/^-?\}\}\}?/)) {
    state.inTag = false
    return 'meta'
  }
  if (stream.eatSpace()) return null
  if (stream.match(/^"(?:[^"\\]|\\.)*"?/) || stream.match(/^'(?:[^'\\]|\\.)*'?/) || stream.match(/^`[^`]*`?/)) return 'string'
  if (stream.match(/^-?\d+(?:\.\d+)?/)) return 'number'
  if (stream.match(/^[#/>^&]\s*[\w.]*/)) return 'keyword'
  if (stream.match(/^[$@]?\.?[\p{L}_][\p{L}\p{N}_.-]*/u)) return words.has(stream.current()) ? 'keyword' : 'variableName'
  stream.next()
  return 'operator'
}

function readComment (stream: StringStream, state: State): string {
  const at = stream.string.indexOf(state.closes, stream.pos)
  if (at < 0) stream.skipToEnd()
  else {
    stream.pos = at + state.closes.length
    state.inComment = false
  }
  return 'comment'
}

function readText (stream: StringStream, state: State): string | null {
  const comment = stream.match(/^\{\{-?\s*\/\*|^\{\{~?!(?:--)?/) as RegExpMatchArray | null
  if (comment !== null) {
    state.inComment = true
    state.closes = comment[0].endsWith('*') ? '*/' : comment[0].endsWith('--') ? '--}}' : '}}'
    return 'comment'
  }
  if (stream.match(/^\{\{\{?[-~]?/)) {
    state.inTag = true
    return 'meta'
  }
  const at = stream.string.indexOf('{{', stream.pos + 1)
  if (at < 0) stream.skipToEnd()
  else stream.pos = at
  return null
}

/** The colours of the tags of a template. This code does not look for mistakes: the service finds them. */
function templateMode (syntax: Syntax) {
  return StreamLanguage.define<State>({
    startState: () => ({ inTag: false, inComment: false, closes: '' }),
    copyState: state => ({ ...state }),
    token: (stream, state) => state.inComment ? readComment(stream, state) : state.inTag ? readTag(stream, state, WORDS[syntax]) : readText(stream, state)
  })
}

const TEMPLATE_MODES = { go: templateMode('go'), handlebars: templateMode('handlebars') } as const
