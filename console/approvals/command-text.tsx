import { Fragment, type ReactNode, type Ref } from 'react'
import { oddities, Revealed } from '../parts/reveal.tsx'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'
import { type Range } from './changed-words.ts'

export interface CommandTextProps {
  readonly text: string
  readonly id: string
  /** What differs from what was shown before. */
  readonly marks?: readonly Range[]
  readonly endRef?: Ref<HTMLSpanElement>
}

/** What is agreed to: every line, wrapped, with nothing hidden in it, from left to right; then how much it is. */
export function CommandText ({ text, id, marks = [], endRef }: CommandTextProps) {
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

/** A line, with the words that differ on a mark. @param from where the line begins in the text */
function Marked ({ line, from, marks }: { readonly line: string, readonly from: number, readonly marks: readonly Range[] }) {
  const parts: ReactNode[] = []
  let at = 0
  for (const mark of marks) {
    const [start, end] = [Math.max(0, mark.from - from), Math.min(line.length, mark.to - from)]
    if (end <= start) continue
    parts.push(<Line text={line.slice(at, start)} />, <mark><Line text={line.slice(start, end)} /></mark>)
    at = end
  }
  return <>{parts.map((part, index) => <Fragment key={index}>{part}</Fragment>)}<Line text={line.slice(at)} /></>
}

/** Tabs, and spaces that are more than one, at the beginning or at the end, can be seen. */
function Line ({ text }: { readonly text: string }) {
  return (
    <>
      {text.split(/(\t| {2,}|^ | $)/).map((part, index) => (
        <Fragment key={index}>
          {/^[\t ]+$/.test(part) ? <span className='blank'>{part.replaceAll('\t', '→').replaceAll(' ', '·')}</span> : <Revealed text={part} />}
        </Fragment>
      ))}
    </>
  )
}

/** How much is agreed to, and what of it could deceive. */
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
