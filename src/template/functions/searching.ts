import { chargeText } from './cost.ts'
import { type FunctionContext } from './function.ts'

/**
 * The longest text, in UTF-16 units, for which V8 is asked to search. In the worst case V8 compares all of it at each place of the searched text; the work
 * that was counted for reading the searched text covers that.
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
