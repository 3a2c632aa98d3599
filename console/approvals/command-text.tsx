import { Fragment, type Ref } from 'react'
import { oddities, Revealed } from '../parts/reveal.tsx'
import { number } from '../parts/time.ts'
import { t } from '../text/text.ts'

/** What is agreed to: every line, wrapped, with nothing hidden in it, from left to right; then how much it is. */
export function CommandText ({ text, id, endRef }: { readonly text: string, readonly id: string, readonly endRef?: Ref<HTMLSpanElement> }) {
  const lines = text.split('\n')
  return (
    <pre className='command' dir='ltr' aria-describedby={id}>
      {lines.map((line, index) => (
        <div key={index} className='line'><span className='ln' aria-hidden='true'>{index + 1}</span><span className='words'><Line text={line} />{index < lines.length - 1 && <span className='quiet' aria-hidden='true'>↵</span>}</span></div>
      ))}
      <span ref={endRef} className='end' />
    </pre>
  )
}

/** Tabs, and spaces that are more than one, at the beginning or at the end, can be seen. */
function Line ({ text }: { readonly text: string }) {
  return <>{text.split(/(\t| {2,}|^ | $)/).map((part, index) => <Fragment key={index}>{/^[\t ]+$/.test(part) && part !== '' ? <span className='blank'>{part.replaceAll('\t', '→').replaceAll(' ', '·')}</span> : <Revealed text={part} />}</Fragment>)}</>
}

/** How much is agreed to, and what of it could deceive. */
export function CommandCount ({ text, id }: { readonly text: string, readonly id: string }) {
  const { hidden, mixed } = oddities(text)
  return (
    <p className='quiet num' id={id}>
      {t.linesAndCharacters(text.split('\n').length, number(text.length))}, {hidden === 0 ? t.noneHidden : <b className='alarm'>{t.someHidden(hidden)}</b>}{mixed.length > 0 && <>, <b className='alarm'>{t.mixedWords(mixed.length)}</b></>}
    </p>
  )
}
