/**
 * A text without its middle: 60 % of what may stay is its beginning and 40 % its end, for what matters of a file or an output
 * is most often there.
 * @param most in UTF-16 units; the mark comes on top. No pair of surrogates is torn
 */
export function cutMiddle (text: string, most: number): string {
  if (text.length <= most) return text
  const head = atPair(text, Math.floor(most * 0.6))
  const tail = text.length - (most - Math.floor(most * 0.6))
  const from = atPair(text, tail)
  return `${text.slice(0, head)}\n...[TRUNCATED ${from - head} chars]...\n${text.slice(from)}`
}

/** The index itself, or the next one where the index would split a pair of surrogates. */
function atPair (text: string, index: number): number {
  const code = text.charCodeAt(index)
  return index > 0 && code >= 0xDC00 && code <= 0xDFFF ? index + 1 : index
}
