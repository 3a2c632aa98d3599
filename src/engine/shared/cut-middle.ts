/**
 * Cuts the middle out of a text: 60 % of the kept length is the beginning and 40 % the end, where the important parts of a file or an output
 * mostly are. No surrogate pair is split.
 * @param most length to keep, in UTF-16 units, without the mark that is put in place of the middle
 */
export function cutMiddle (text: string, most: number): string {
  if (text.length <= most) return text
  const head = atPair(text, Math.floor(most * 0.6))
  const tail = text.length - (most - Math.floor(most * 0.6))
  const from = atPair(text, tail)
  return `${text.slice(0, head)}\n...[TRUNCATED ${from - head} chars]...\n${text.slice(from)}`
}

/** The index itself, or the next one where the index would split a surrogate pair. */
function atPair (text: string, index: number): number {
  const code = text.charCodeAt(index)
  return index > 0 && code >= 0xDC00 && code <= 0xDFFF ? index + 1 : index
}
