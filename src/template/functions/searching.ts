import { chargeText } from './cost.ts'
import { type FunctionContext } from './function.ts'

/**
 * The length of the longest separator that V8 is asked to find, in UTF-16 units. In the worst case V8 compares the whole separator at each place of the
 * text; the work that was counted for reading the text covers that.
 */
const HEAD = 32

/** Splits a text at a separator, which is not empty. The cost of the parts is counted before they are made. */
export function partsBetween (text: string, separator: string, context: FunctionContext): string[] {
  if (separator.length > HEAD) return partsBetweenLong(text, separator, context)
  let parts = 1
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + separator.length)) parts++
  context.charge(parts)
  return text.split(separator)
}

/**
 * Splits a text at a long separator. V8 searches only for the beginning of the separator; wherever that is found, the rest is compared, and its cost
 * is counted.
 */
function partsBetweenLong (text: string, separator: string, context: FunctionContext): string[] {
  const head = separator.slice(0, HEAD)
  const parts: string[] = []
  let start = 0
  for (let at = text.indexOf(head); at >= 0;) {
    context.charge(1)
    chargeText(separator.length, context)
    const isFound = text.startsWith(separator, at)
    if (isFound) {
      parts.push(text.slice(start, at))
      start = at + separator.length
    }
    at = text.indexOf(head, isFound ? start : at + 1)
  }
  parts.push(text.slice(start))
  return parts
}
