import { type Span } from './origin.ts'

/**
 * Puts an indentation before every line of a text that comes as spans, except before an empty end. It becomes part of
 * the span that the line begins with.
 */
export function indentSpans (spans: readonly Span[], indent: string): Span[] {
  let isLineStart = true
  return spans.map(span => {
    if (span.text === '') return span
    const start = isLineStart ? indent : ''
    isLineStart = span.text.endsWith('\n')
    return { ...span, text: start + span.text.replace(/\n(?=[^])/g, `\n${indent}`) }
  })
}
