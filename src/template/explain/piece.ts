import { type Position } from '../position.ts'
import { type Origin, type Span } from './origin.ts'
import { originsBelow, type Provenance } from './provenance.ts'

/** A stretch of a template's own text, and where it begins. */
export interface Literal extends Position { readonly text: string }

/** The template's own texts right before and after an expression. They are noted together with it, which is faster. */
export interface Beside {
  readonly before: Literal | undefined
  /** The text after the expression; set only when the block around it ends with that text. Otherwise the text is noted together with the next expression. */
  readonly after: Literal | undefined
}

/** A place in a template that writes output, described before anything runs: a printing expression, or a stretch of text. */
export interface Writer extends Position, Beside {
  /** The names of the members that lead from the value whose provenance is known (`Piece.from`) to the value that is printed. */
  readonly names: readonly string[]
  /** The number of spans (parts of the explained output) that one piece becomes: one for its text, and one each for the texts before and after it. */
  readonly spans: number
}

/**
 * A piece of output, noted while the output is made. Slow work, such as making paths, is left for the moment when somebody reads the spans. The
 * pieces form a linked list, the last one first: an array would be copied whenever it grows, which would make a long render a fifth slower.
 */
export class Piece {
  readonly text: string
  readonly writer: Writer
  /** The provenance of the value from which the text was made; `undefined` for the template's own text. */
  readonly from: Provenance | undefined
  readonly partial: string | undefined
  readonly previous: Piece | undefined

  constructor (text: string, writer: Writer, from: Provenance | undefined, partial: string | undefined, previous: Piece | undefined) {
    this.text = text
    this.writer = writer
    this.from = from
    this.partial = partial
    this.previous = previous
  }
}

const LITERAL: readonly Origin[] = [{ kind: 'literal' }]
const NO_NAMES: readonly string[] = []

/** No text before or after an expression. */
export const ALONE: Beside = { before: undefined, after: undefined }

/** Makes the `Writer` that describes a stretch of the template's own text. */
export function literalWriter (at: Position): Writer {
  return writerAt(at, ALONE)
}

/** Makes the `Writer` that describes an expression that prints. */
export function writerAt ({ line, column }: Position, { before, after }: Beside, names: readonly string[] = NO_NAMES): Writer {
  return { line, column, before, after, names, spans: 1 + (before === undefined ? 0 : 1) + (after === undefined ? 0 : 1) }
}

/** The descriptions of an expression that prints the value of a path. Which one is used depends on where the value was found. */
export interface PathWriter {
  /** Used in all cases except the two below. */
  readonly made: Writer
  /** Used when the value is a member, at any depth, of the value with which the path begins. */
  readonly below: Writer
  /**
   * Used when the path begins at the scope root with `variables` or `args`. Then the value is reported as a member of the caller's variables as a whole, so
   * the `names` of this writer lack that first name.
   */
  readonly belowRoot: Writer
}

/** Makes the writers for the output of a path. */
export function pathWriter (at: Position, beside: Beside, names: readonly string[]): PathWriter {
  return { made: writerAt(at, beside), below: writerAt(at, beside, names), belowRoot: writerAt(at, beside, names.slice(1)) }
}

/** The pieces after `start`, in the order of the output. @param last the last piece of the linked list */
function listOf (last: Piece | undefined, start: Piece | undefined): Piece[] {
  const pieces: Piece[] = []
  for (let piece = last; piece !== undefined && piece !== start; piece = piece.previous) pieces.push(piece)
  return pieces.reverse()
}

/** The texts of the pieces after `start`, in the order of the output. Each piece gives three: the text before it, its own text, and the text after it. */
export function textsSince (last: Piece | undefined, start: Piece | undefined): string[] {
  return listOf(last, start).flatMap(({ text, writer: { before, after } }) => [before?.text ?? '', text, after?.text ?? ''])
}

/**
 * A copy of the linked list in which the pieces after `start` have other texts.
 * @param texts three for each piece: the text before it, its own text, and the text after it
 */
export function withTexts (last: Piece | undefined, start: Piece | undefined, texts: readonly string[]): Piece | undefined {
  const changed = (literal: Literal | undefined, text: string | undefined): Literal | undefined => literal && { ...literal, text: text as string }
  return listOf(last, start).reduce<Piece | undefined>((previous, { writer, from, partial }, index) => {
    const [before, text, after] = texts.slice(3 * index, 3 * index + 3)
    return new Piece(text as string, { ...writer, before: changed(writer.before, before), after: changed(writer.after, after) }, from, partial, previous)
  }, start)
}

/** The spans of the output that the pieces of a linked list make. */
export function spansOf (last: Piece | undefined): Span[] {
  const spans: Span[] = []
  for (const { text, writer, from, partial } of listOf(last, undefined)) {
    const { before, after } = writer
    if (before !== undefined) spans.push(span(before.text, before, partial, LITERAL))
    const sources = from === undefined ? LITERAL : originsBelow(from, writer.names)
    spans.push(span(text, writer, partial, sources.length === 0 ? LITERAL : sources))
    if (after !== undefined) spans.push(span(after.text, after, partial, LITERAL))
  }
  return spans
}

function span (text: string, { line, column }: Position, partial: string | undefined, sources: readonly Origin[]): Span {
  return partial === undefined ? { text, line, column, sources } : { text, line, column, partial, sources }
}
