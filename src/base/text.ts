/** The variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>

/** When V8 cuts a text out of a longer one, the longer one stays in memory as long as the short one: a megabyte for a word. */
export function ownCopy (text: string): string {
  return ` ${text}`.slice(1)
}

/** In UTF-16 units; texts that a caller chooses are kept only so far, to bound their memory. */
export function beginningOf (text: string, most: number): string {
  return text.length <= most ? text : ownCopy(text.slice(0, most))
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** With the byte order mark; `undefined` for bytes whose text would not give the same bytes again. */
export function utf8In (bytes: Uint8Array): string | undefined {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return undefined
  }
}

/** The noun before "of" gets the s: `tools`, `lists of tests`. */
export function pluralOf (noun: string): string {
  return noun.replace(/(?= of )|$/, 's')
}

/** A regular expression such as `/0+$/` would try each run of characters anew at each place. */
export function withoutEnd (text: string, characters: string): string {
  let end = text.length
  while (end > 0 && characters.includes(text[end - 1] as string)) end--
  return text.slice(0, end)
}

export function hasAtMost (text: string, part: string, most: number): boolean {
  let count = 0
  for (let index = text.indexOf(part); index >= 0 && count <= most; index = text.indexOf(part, index + part.length)) count++
  return count <= most
}

/** https://www.rfc-editor.org/rfc/rfc9110#section-5.5, without the obsolete forms there. */
export function fitsHeader (text: string): boolean {
  return /^[\x20-\x7e]*$/.test(text)
}

/** Controls of terminals or writing direction, invisible ones and spaces; Unicode counts U+2800, a blank, among the symbols. */
const HIDDEN = /(?![\n\t ])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Zs}\p{Default_Ignorable_Code_Point}\u{2800}]/gu

/** Shown as `\u{1b}`; tabs and line ends stay. */
export function revealHidden (text: string): string {
  return text.replaceAll(HIDDEN, character => `\\u{${(character.codePointAt(0) as number).toString(16)}}`)
}

/** Each becomes a JSON escape, so the meaning of the text stays the same. */
export function revealInJson (json: string): string {
  return json.replaceAll(HIDDEN, character =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join('')
  )
}

export function inOneLine (text: string): string {
  return text.replaceAll(/\s+/g, space => /[\t\r\n]/.test(space) ? ' ' : space)
}

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

export function describeType (type: string): string {
  return TYPES[type] ?? type
}

/** `a string`, `an object`; numbers, true, false and null are given as they are. */
export function describeKind (value: unknown): string {
  if (typeof value === 'string') return 'a string'
  if (Array.isArray(value)) return 'a list'
  return typeof value === 'object' && value !== null ? 'an object' : String(value)
}

/** In linear time, whoever wrote the pattern: the parts between stars are searched one after the other, never backwards. */
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

/** Names between commas, as a variable of the environment has several. */
export function listIn (text: string): string[] {
  return text.split(',').map(each => each.trim()).filter(each => each !== '')
}
