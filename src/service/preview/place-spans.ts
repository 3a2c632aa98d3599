import { type Prompt } from '../../registry/generation/generation.ts'
import { type Span } from '../../template/explain/origin.ts'
import { type Tag, scanTags } from '../../template/syntax/tags.ts'
import { type Explanation, type ExplainedMessage, type MessageSpan } from '../render/explanation.ts'

/** A range of a text, as offsets in UTF-16 units; `to` is the offset after the last unit. */
export interface Stretch {
  readonly from: number
  readonly to: number
}

/** A span (a piece of a rendered message) with its range in the output and in the template, so that an editor can highlight both. */
export interface PlacedSpan extends MessageSpan {
  /** The span's range in the rendered message. If the message is a list of parts, the range in the text that `part` and `member` name. */
  readonly output: Stretch
  /** The range of the tag or plain text in the message's template that produced the span; left out for a span from a partial (an included prompt). */
  readonly source?: Stretch
}

/** An explanation of a rendered prompt whose spans have their ranges; see PlacedSpan. */
export interface PlacedExplanation extends Omit<Explanation, 'messages'> {
  readonly messages: ReadonlyArray<Omit<ExplainedMessage, 'spans'> & { readonly spans: readonly PlacedSpan[] }>
}

/** Adds to each span of an explanation its ranges in the output and in the template. */
export function placeSpans (explanation: Explanation, { entry: { definition, compiled } }: Prompt): PlacedExplanation {
  return {
    ...explanation,
    messages: explanation.messages.map(({ spans, ...message }, index) => {
      let text: MessageSpan | undefined
      let places = new TemplatePlaces('', 'either')
      let from = 0
      return {
        ...message,
        spans: spans.map((span): PlacedSpan => {
          if (text === undefined || span.part !== text.part || span.member !== text.member) {
            text = span
            const source = definition.texts.find(({ message: of, where }) => of === index && where?.part === span.part && where?.member === span.member)
            places = new TemplatePlaces(source?.text ?? '', compiled.syntax ?? 'either')
            from = 0
          }
          const output = { from, to: from + span.text.length }
          from = output.to
          return span.partial === undefined ? { ...span, output, source: places.writerOf(span) } : { ...span, output }
        })
      }
    })
  }
}

/** Finds which tag, or which piece of plain text, of a template wrote a span. */
class TemplatePlaces {
  readonly #text: string
  readonly #lines: readonly number[]
  readonly #tags: readonly Stretch[]

  constructor (text: string, rules: Parameters<typeof scanTags>[1]) {
    this.#text = text
    this.#lines = [0, ...Array.from(text.matchAll(/\n/g), ({ index }) => index + 1)]
    this.#tags = Array.from(scanTags(text, rules), tag => ({ from: tag.start, to: endOf(text, tag) }))
  }

  writerOf ({ line, column, text }: Span): Stretch {
    const offset = Math.min((this.#lines[line - 1] ?? 0) + column - 1, this.#text.length)
    const index = this.#lastTagAt(offset)
    const tag = this.#tags[index]
    if (tag !== undefined && offset < tag.to) return tag
    const end = this.#tags[index + 1]?.from ?? this.#text.length
    return { from: offset, to: this.#text.startsWith(text, offset) ? offset + text.length : end }
  }

  /** The index of the template's last tag (`{{…}}`) that begins at the offset or before it; -1 if no tag does. */
  #lastTagAt (offset: number): number {
    let low = -1
    let high = this.#tags.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      if ((this.#tags[middle] as Stretch).from <= offset) low = middle
      else high = middle - 1
    }
    return low
  }
}

/** The offset after a tag. A tag that begins with three braces ends with three, too. */
function endOf (text: string, { start, inner }: Tag): number {
  const end = Math.min(start + inner.length + 4, text.length)
  return inner.startsWith('{') && text[end] === '}' ? end + 1 : end
}
