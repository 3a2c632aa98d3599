/**
 * Characters that cannot be seen, or that look like a plain space. These are the characters that `revealHidden` of the service makes
 * visible (src/base/text.ts).
 */
const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/**
 * A hidden character, or a whole word, which is then examined on its own. A single expression for words of mixed alphabets would take time
 * in the third power of the word's length.
 */
// Such a word always matches, from wherever it is looked at, so nothing is looked at twice.
// eslint-disable-next-line regexp/no-super-linear-move
const HIDDEN_OR_WORD = new RegExp(`${HIDDEN.source}|(?:(?!${HIDDEN.source})[\\p{L}\\p{M}\\p{N}])+`, 'gu')

const LATIN = /\p{sc=Latin}/u
/** Letters of alphabets in which some letters look like Latin ones. */
const ALIKE = /[\p{sc=Cyrillic}\p{sc=Greek}]/u

/** A piece of text that could deceive a person: a hidden character, or a word that mixes Latin letters with letters that may look like them. */
export interface Oddity { readonly at: number, readonly text: string, readonly isHidden: boolean }

/** The form in which the console shows a hidden character: `\u{202e}`. */
export function nameOf (character: string): string {
  return `\\u{${(character.codePointAt(0) as number).toString(16)}}`
}

/** Finds the pieces of a text that could deceive a person, in their order. */
export function odditiesOf (text: string): readonly Oddity[] {
  const found: Oddity[] = []
  for (const { 0: piece, index } of text.matchAll(ALIKE.test(text) ? HIDDEN_OR_WORD : HIDDEN)) {
    const isHidden = piece.search(HIDDEN) === 0
    if (isHidden || (LATIN.test(piece) && ALIKE.test(piece))) found.push({ at: index, text: piece, isHidden })
  }
  return found
}

/** Counts the hidden characters of a text, and lists its words of mixed alphabets, each once. */
export function oddities (text: string): { readonly hidden: number, readonly mixed: readonly string[] } {
  const all = odditiesOf(text)
  return { hidden: all.filter(({ isHidden }) => isHidden).length, mixed: [...new Set(all.filter(({ isHidden }) => !isHidden).map(({ text: word }) => word))] }
}
