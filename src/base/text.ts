/**
 * The same text, in memory of its own. A text that V8 cuts out of another keeps all of the other alive: a megabyte for a
 * word, for as long as somebody keeps the word.
 */
export function ownCopy (text: string): string {
  return ` ${text}`.slice(1)
}

/** The beginning of a text, at most so many UTF-16 units. For code that keeps texts which callers choose. */
export function beginningOf (text: string, most: number): string {
  return text.length <= most ? text : ownCopy(text.slice(0, most))
}

/** Whether something stands in a text at most so many times. */
export function hasAtMost (text: string, part: string, most: number): boolean {
  let count = 0
  for (let index = text.indexOf(part); index >= 0 && count <= most; index = text.indexOf(part, index + part.length)) count++
  return count <= most
}

/** Whether a text can be sent in a header: https://www.rfc-editor.org/rfc/rfc9110#section-5.5, without what is obsolete there. */
export function fitsHeader (text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

/**
 * Characters that control a terminal, change the direction of writing, look like nothing, or look like a space and are none.
 * U+2800 is a blank that Unicode counts among the symbols.
 */
const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/** A text in which nothing hides: such a character is shown as `\u{1b}`. Tabs and line ends stay. */
export function revealHidden (text: string): string {
  return text.replaceAll(HIDDEN, character => `\\u{${(character.codePointAt(0) as number).toString(16)}}`)
}

/** The same for JSON, whose meaning stays the same: such a character becomes a JSON escape. */
export function revealInJson (json: string): string {
  return json.replaceAll(HIDDEN, character =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
  )
}

/** A noun with its article: `a prompt`, `an agent`. */
export function withArticle (noun: string): string {
  return `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`
}

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  integer: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object'
}

/** What a type of JSON Schema is called in a sentence. */
export function typeInWords (type: string): string {
  return TYPES[type] ?? type
}

/**
 * What kind of JSON value it is, in the words of a sentence and without the content: `a string`, `an object`. Numbers, true,
 * false and null are given as they are.
 */
export function kindInWords (value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}
