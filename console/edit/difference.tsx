import { MergeView } from '@codemirror/merge'
import { EditorState } from '@codemirror/state'
import { EditorView, lineNumbers } from '@codemirror/view'
import { useEffect, useRef } from 'react'
import { t } from '../text/text.ts'

const nonce = document.querySelector<HTMLMetaElement>('meta[name=nonce]')?.content ?? ''

/** Shows two texts side by side, with their equal parts folded. The texts cannot be edited. */
export function Difference ({ before, after, labels }: {
  readonly before: string
  readonly after: string
  readonly labels: readonly [before: string, after: string]
}) {
  const place = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const extensions = (label: string) => [
      EditorState.readOnly.of(true),
      EditorView.editable.of(false),
      EditorView.lineWrapping,
      lineNumbers(),
      EditorState.phrases.of({ '$ unchanged lines': t.unchangedLines }),
      EditorView.cspNonce.of(nonce),
      EditorView.contentAttributes.of({ 'aria-label': label, tabindex: '0' })
    ]
    const view = new MergeView({
      parent: place.current as HTMLElement,
      a: { doc: before, extensions: extensions(labels[0]) },
      b: { doc: after, extensions: extensions(labels[1]) },
      collapseUnchanged: { margin: 3, minSize: 6 },
      gutter: false
    })
    return () => { view.destroy() }
  }, [before, after, labels[0], labels[1]])
  return (
    <div className='difference'>
      <div className='heads'><h3>{labels[0]}</h3><h3>{labels[1]}</h3></div>
      <div ref={place} />
    </div>
  )
}
