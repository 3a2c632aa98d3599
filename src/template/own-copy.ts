/**
 * The same text, in memory of its own: what V8 cuts out of a text keeps the whole of it alive, a megabyte for a word, for
 * as long as somebody remembers the word.
 */
export function ownCopy (text: string): string {
  return ` ${text}`.slice(1)
}

/** The beginning of a text, at most so many UTF-16 units, for whoever remembers texts that callers choose. */
export function beginningOf (text: string, most: number): string {
  return text.length <= most ? text : ownCopy(text.slice(0, most))
}
