import { chargeText } from './cost.ts'
import { type FunctionContext } from './function.ts'

/**
 * How much of a separator V8 is asked to search for at a time, in UTF-16 units. In the worst case V8 compares all of it at each place of the text;
 * this much is covered by what was paid for reading the text.
 */
const HEAD = 32

/** Splits a text at a separator, which is not empty. The parts are paid for before they are made. */
export function partsBetween (text: string, separator: string, context: FunctionContext): string[] {
  if (separator.length > HEAD) return partsBetweenLong(text, separator, context)
  let parts = 1
  for (let at = text.indexOf(separator); at >= 0; at = text.indexOf(separator, at + separator.length)) parts++
  context.charge(parts)
  return text.split(separator)
}

/** Splits a text at a long separator. Only the separator's head is searched for; the rest is compared, and paid for, wherever the head is found. */
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
