import { Fragment, type ReactNode } from 'react'
import { t } from '../text/text.ts'
import { nameOf, odditiesOf, type Oddity } from './oddities.ts'

/** Shows a text with its hidden characters made visible, and with a mark on each word of mixed alphabets. */
export function Revealed ({ text }: { readonly text: string }) {
  const parts: ReactNode[] = []
  let end = 0
  for (const oddity of odditiesOf(text)) {
    parts.push(text.slice(end, oddity.at), <Odd key={oddity.at} oddity={oddity} />)
    end = oddity.at + oddity.text.length
  }
  return <>{parts.map((part, index) => <Fragment key={index}>{part}</Fragment>)}{text.slice(end)}</>
}

function Odd ({ oddity: { text, isHidden } }: { readonly oddity: Oddity }) {
  return isHidden
    ? (
      <span className='odd' role='img' aria-label={t.hiddenCharacter(nameOf(text))}>
        {nameOf(text)}
      </span>
      )
    : <span className='odd' title={t.mixedWord}>{text}</span>
}
