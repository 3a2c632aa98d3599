/**
 * A copy of a text in memory of its own. When V8 cuts a text out of a longer one, the whole longer text stays in memory as long as the short one
 * does: a megabyte for a word.
 */
export function ownCopy (text: string): string {
  return ` ${text}`.slice(1)
}

/**
 * The beginning of a text, at most `most` UTF-16 units long. It is what the service keeps of a text that a caller chooses, so that such texts
 * take a bounded amount of memory.
 */
export function beginningOf (text: string, most: number): string {
  return text.length <= most ? text : ownCopy(text.slice(0, most))
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of bytes in UTF-8, with its byte order mark; `undefined` for other bytes, whose text would not give the same bytes again. */
export function utf8In (bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** The plural of a noun. The noun before "of" gets the s: `tools`, `lists of tests`. */
export function pluralOf (noun: string): string {
  return noun.replace(/(?= of )|$/, 's')
}

/** A text without those of the given characters that stand at its end. A regular expression such as `/0+$/` would try each run of them anew at each place. */
export function withoutEnd (text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] as string)) end--
  return text.slice(0, end)
}

/** Whether `part` occurs in a text at most `most` times. */
export function hasAtMost (text: string, part: string, most: number): boolean {
  let count = 0
  for (let index = text.indexOf(part); index >= 0 && count <= most; index = text.indexOf(part, index + part.length)) count++
  return count <= most
}

/** Whether a text can be the value of an HTTP header: https://www.rfc-editor.org/rfc/rfc9110#section-5.5, without the obsolete forms there. */
export function fitsHeader (text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

/**
 * Matches characters that nobody sees: those that control a terminal or change the direction of writing, and those that are invisible or look like a
 * space. U+2800 is a blank that Unicode counts among the symbols.
 */
const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/** Makes invisible characters of a text visible: each is shown as `\u{1b}`. Tabs and line ends stay. */
export function revealHidden (text: string): string {
  return text.replaceAll(HIDDEN, character => `\\u{${(character.codePointAt(0) as number).toString(16)}}`)
}

/** Makes invisible characters of a JSON text visible: each becomes a JSON escape, so the meaning of the text stays the same. */
export function revealInJson (json: string): string {
  return json.replaceAll(HIDDEN, character =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
  )
}

/** The text on one line: a tab or a line end, with the white space around it, becomes a blank. */
export function inOneLine (text: string): string {
  return text.replaceAll(/\s+/g, space => /[\t\r\n]/.test(space) ? ' ' : space)
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

/** The word for a type of JSON Schema in a sentence: `a string`. */
export function typeInWords (type: string): string {
  return TYPES[type] ?? type
}

/** The kind of a JSON value in words, without its content: `a string`, `an object`. Numbers, true, false and null are given as they are. */
export function kindInWords (value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/**
 * Makes the test of a text against a pattern in which `*` stands for any characters. A test takes linear time, whoever has written the pattern: the
 * parts between the stars are searched for one after the other, never backwards.
 */
export function starPattern (pattern: string): (text: string) => boolean {
  const [first = '', ...parts] = pattern.split('*')
  const last = parts.pop()
  if (last === undefined) return text => text === pattern
  return text => {
    if (text.length < first.length + last.length || !text.startsWith(first) || !text.endsWith(last)) return false
    let from = first.length
    for (const part of parts) {
      const at = text.indexOf(part, from)
      if (at < 0 || at + part.length > text.length - last.length) return false
      from = at + part.length
    }
    return true
  }
}
