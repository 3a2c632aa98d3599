import { StateEffect, StateField, type Text } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view'

/** A place in a text. The service counts lines and columns from 1, and so does this type. */
export interface Place { readonly line: number, readonly column: number }

/** A mistake, a warning or a hint at its place. */
export interface Remark extends Place { readonly severity: string, readonly message: string }

/** Replaces the remarks that the editor shows. */
export const showRemarks = StateEffect.define<readonly Remark[]>()

/** Draws each remark below the word that it is about, and beside the word's line. The title of the mark has the message. */
export const remarkMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update (marks, { changes, effects, newDoc }) {
    let now = marks.map(changes)
    for (const effect of effects) if (effect.is(showRemarks)) now = Decoration.set(effect.value.flatMap(remark => marksOf(newDoc, remark)), true)
    return now
  },
  provide: field => EditorView.decorations.from(field)
})

/** The offset of a place in the text, in UTF-16 units; for a place that does not exist, the offset of the nearest place. */
export function offsetOf (doc: Text, { line, column }: Place): number {
  const { from, to } = doc.line(Math.max(1, Math.min(line, doc.lines)))
  return Math.min(from + Math.max(column, 1) - 1, to)
}

function marksOf (doc: Text, { severity, message, ...place }: Remark) {
  const from = offsetOf(doc, place)
  const line = doc.lineAt(from)
  const [word = ' '] = /^\{\{[^}]*\}?\}?|^[\w.]+/.exec(line.text.slice(from - line.from)) ?? []
  const tone = severity === 'error' ? 'bad' : severity === 'warning' ? 'warn' : 'hint'
  const to = Math.min(from + word.length, line.to)
  const beside = Decoration.line({ class: `remark-line ${tone}` }).range(line.from)
  return from < to ? [beside, Decoration.mark({ class: `remark ${tone}`, attributes: { title: message } }).range(from, to)] : [beside]
}
