/** What cannot be seen, or looks like what it is not; the same as `revealHidden` of the service (src/base/text.ts). */
export const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/** A hidden character, or a word: whole words are found and then looked into, since one expression for mixed ones takes the cube of their length. */
const HIDDEN_OR_WORD = new RegExp(`${HIDDEN.source}|(?:(?!${HIDDEN.source})[\\p{L}\\p{M}\\p{N}])+`, 'gu')

const LATIN = /\p{sc=Latin}/u
/** Alphabets with letters that look like Latin ones. */
const ALIKE = /[\p{sc=Cyrillic}\p{sc=Greek}]/u

/** A hidden character, or a word of letters that look alike and are of several alphabets. */
export interface Oddity { readonly at: number, readonly text: string, readonly isHidden: boolean }

/** A hidden character as it is shown: `\u{202e}`. */
export function nameOf (character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`
}

/** A text in which nothing hides, as one text. */
export function revealed (text: string): string {
  return text.replaceAll(HIDDEN, nameOf)
}

/** What in a text could deceive whoever reads it, in its order. */
export function odditiesOf (text: string): readonly Oddity[] {
  const found: Oddity[] = []
  for (const { 0: piece, index } of text.matchAll(ALIKE.test(text) ? HIDDEN_OR_WORD : HIDDEN)) {
    const isHidden = piece.search(HIDDEN) === 0
    if (isHidden || (LATIN.test(piece) && ALIKE.test(piece))) found.push({ at: index, text: piece, isHidden })
  }
  return found
}

/** How many characters of a text are hidden, and its words of several alphabets, each once. */
export function oddities (text: string): { readonly hidden: number, readonly mixed: readonly string[] } {
  const all = odditiesOf(text)
  return { hidden: all.filter(({ isHidden }) => isHidden).length, mixed: [...new Set(all.filter(({ isHidden }) => !isHidden).map(({ text: word }) => word))] }
}
