import { Fragment, type ReactNode, type Ref } from 'react'
import { oddities } from '../parts/oddities.ts'
import { Revealed } from '../parts/reveal.tsx'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Range } from './changed-words.ts'

/** Shows the text of an action from left to right: all its lines, wrapped, with hidden characters made visible. */
export function CommandText ({ text, id, marks = [], endRef }: {
  readonly text: string
  readonly id: string
  readonly marks?: readonly Range[]
  readonly endRef?: Ref<HTMLSpanElement>
}) {
  const lines = linesOf(text)
  return (
    <pre className='command' dir='ltr' aria-describedby={id}>
      {lines.map(({ line, from }, index) => (
        <div key={index} className='line'>
          <span className='ln' aria-hidden='true'>{index + 1}</span>
          <span className='words'>
            <Marked line={line} from={from} marks={marks} />{index < lines.length - 1 && <span className='quiet' aria-hidden='true'>↵</span>}
          </span>
        </div>
      ))}
      <span ref={endRef} className='end' />
    </pre>
  )
}

function linesOf (text: string): ReadonlyArray<{ readonly line: string, readonly from: number }> {
  let from = 0
  return text.split('\n').map(line => {
    const found = { line, from }
    from += line.length + 1
    return found
  })
}

/**
 * Blanks that a person could overlook: a tab, several spaces in a row, and a space at the beginning or the end of a line. They are shown as
 * signs.
 */
const BLANKS = /\t| {2,}|^ | $/g

/** Shows one line, with its changed parts marked. @param from the offset of the line in the whole text */
function Marked ({ line, from, marks }: { readonly line: string, readonly from: number, readonly marks: readonly Range[] }) {
  const blanks = Array.from(line.matchAll(BLANKS), ({ 0: blank, index }) => ({ from: index, to: index + blank.length }))
  const parts: ReactNode[] = []
  let at = 0
  for (const mark of marks) {
    const [start, end] = [Math.max(0, mark.from - from), Math.min(line.length, mark.to - from)]
    if (end <= start) continue
    parts.push(<Part line={line} from={at} to={start} blanks={blanks} />, <mark><Part line={line} from={start} to={end} blanks={blanks} /></mark>)
    at = end
  }
  return <>{parts.map((part, index) => <Fragment key={index}>{part}</Fragment>)}<Part line={line} from={at} to={line.length} blanks={blanks} /></>
}

/** Shows a part of a line, with signs in place of the blanks that a person could overlook. */
function Part ({ line, from, to, blanks }: Range & { readonly line: string, readonly blanks: readonly Range[] }) {
  const parts: ReactNode[] = []
  let at = from
  for (const blank of blanks) {
    const [start, end] = [Math.max(from, blank.from), Math.min(to, blank.to)]
    if (end <= start) continue
    parts.push(<Revealed text={line.slice(at, start)} />, <span className='blank'>{line.slice(start, end).replaceAll('\t', '→').replaceAll(' ', '·')}</span>)
    at = end
  }
  return <>{parts.map((part, index) => <Fragment key={index}>{part}</Fragment>)}<Revealed text={line.slice(at, to)} /></>
}

/** Shows the numbers of lines and characters of a text, and how many of its characters and words could deceive a person. */
export function CommandCount ({ text, id }: { readonly text: string, readonly id: string }) {
  const { hidden, mixed } = oddities(text)
  return (
    <p className='quiet num' id={id}>
      {t.linesAndCharacters(text.split('\n').length, number(text.length))}
      {', '}
      {hidden === 0 ? t.noneHidden : <b className='alarm'>{t.someHidden(hidden)}</b>}
      {mixed.length > 0 && <>, <b className='alarm'>{t.mixedWords(mixed.length)}</b></>}
    </p>
  )
}
