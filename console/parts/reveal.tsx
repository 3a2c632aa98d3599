import { Fragment, type ReactNode } from 'react'
import { t } from '../text/text.ts'

/** What cannot be seen, or looks like what it is not; the same as `revealHidden` of the service (src/base/text.ts). */
export const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/** A word of letters that look alike and are of several alphabets. */
const MIXED = /[\p{L}\p{M}\p{N}]*(?:\p{sc=Latin}[\p{L}\p{M}\p{N}]*[\p{sc=Cyrillic}\p{sc=Greek}]|[\p{sc=Cyrillic}\p{sc=Greek}][\p{L}\p{M}\p{N}]*\p{sc=Latin})[\p{L}\p{M}\p{N}]*/gu

const ODD = new RegExp(`${MIXED.source}|${HIDDEN.source}`, 'gu')

/** A hidden character as it is shown: `\u{202e}`. */
export function nameOf (character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`
}

/** A text in which nothing hides, as one text. */
export function revealed (text: string): string {
  return text.replaceAll(HIDDEN, nameOf)
}

/** What in a text could deceive whoever reads it. */
export function oddities (text: string): { readonly hidden: number, readonly mixed: readonly string[] } {
  return { hidden: text.match(HIDDEN)?.length ?? 0, mixed: [...new Set(text.match(MIXED) ?? [])] }
}

/** A text in which nothing hides: such characters are named on a mark, words of two alphabets are framed. */
export function Revealed ({ text }: { readonly text: string }) {
  const parts: ReactNode[] = []
  let end = 0
  for (const match of text.matchAll(ODD)) {
    parts.push(text.slice(end, match.index), <Odd key={match.index} text={match[0]} />)
    end = match.index + match[0].length
  }
  return <>{parts.map((part, index) => <Fragment key={index}>{part}</Fragment>)}{text.slice(end)}</>
}

function Odd ({ text }: { readonly text: string }) {
  const isHidden = new RegExp(`^${HIDDEN.source}$`, 'u').test(text)
  return isHidden
    ? (
      <span className='odd' role='img' aria-label={t.hiddenCharacter(nameOf(text))}>
        {nameOf(text)}
      </span>
      )
    : <span className='odd' title={t.mixedWord}>{text}</span>
}
