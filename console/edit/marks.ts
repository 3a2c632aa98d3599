import { StateEffect, StateField } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView } from '@codemirror/view'

/** Puts a frame around a part of the text; `undefined` removes the frame. */
export const markRange = StateEffect.define<{ readonly from: number, readonly to: number } | undefined>()

const frame = Decoration.mark({ class: 'from here' })

export const rangeMarks = StateField.define<DecorationSet>({
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
