import { type Position } from '../position.ts'
import { type Origin, type Span } from './origin.ts'
import { originsBelow, type Provenance } from './provenance.ts'

/** Text of a template itself, and where it begins. */
export interface Literal extends Position { readonly text: string }

/** The template's own text right beside an expression, which is told together with it. */
export interface Beside {
  readonly before: Literal | undefined
  /** Only at the end of what surrounds both: elsewhere, what comes next tells of it. */
  readonly after: Literal | undefined
}

/** What is known of a printing expression, or of a piece of text, before anything runs. */
export interface Writer extends Position, Beside {
  /** Members that lead from what a piece comes from to what was printed. */
  readonly names: readonly string[]
  /** How many spans it makes. */
  readonly spans: number
}

/**
 * A piece of output, noted while the output is made. Work that takes time, such as making paths, is left for the moment when
 * somebody reads the spans. Pieces are a chain, the last one first: a growing list is copied again and again, which would
 * make a long render a fifth slower.
 */
export class Piece {
  readonly text: string
  readonly writer: Writer
  /** Where the text comes from; `undefined` for the template's own. */
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

/** No text beside. */
export const ALONE: Beside = { before: undefined, after: undefined }

/** The writer of a template's own text. */
export function literalWriter (at: Position): Writer {
  return writerAt(at, ALONE)
}

/** The writer of what an expression prints. */
export function writerAt ({ line, column }: Position, { before, after }: Beside, names: readonly string[] = NO_NAMES): Writer {
  return { line, column, before, after, names, spans: 1 + (before === undefined ? 0 : 1) + (after === undefined ? 0 : 1) }
}

/** The writers of what a path prints, by where the path's value is found. */
export interface PathWriter {
  /** Anywhere else. */
  readonly made: Writer
  /** Below what the path begins with. */
  readonly below: Writer
  /** At the scope root, which has read the first name itself. */
  readonly belowRoot: Writer
}

/** The writers of what a path prints. */
export function pathWriter (at: Position, beside: Beside, names: readonly string[]): PathWriter {
  return { made: writerAt(at, beside), below: writerAt(at, beside, names), belowRoot: writerAt(at, beside, names.slice(1)) }
}

/** The pieces of a chain in the order of the output, from the one behind `start` on. */
function listOf (last: Piece | undefined, start: Piece | undefined): Piece[] {
  const pieces: Piece[] = []
  for (let piece = last; piece !== undefined && piece !== start; piece = piece.previous) pieces.push(piece)
  return pieces.reverse()
}

/** The texts from the piece behind `start` on, in the order of the output. */
export function textsSince (last: Piece | undefined, start: Piece | undefined): string[] {
  return listOf(last, start).flatMap(({ text, writer: { before, after } }) => [before?.text ?? '', text, after?.text ?? ''])
}

/** The same chain with others in place of those texts. */
export function withTexts (last: Piece | undefined, start: Piece | undefined, texts: readonly string[]): Piece | undefined {
  const changed = (literal: Literal | undefined, text: string | undefined): Literal | undefined => literal && { ...literal, text: text as string }
  return listOf(last, start).reduce<Piece | undefined>((previous, { writer, from, partial }, index) => {
    const [before, text, after] = texts.slice(3 * index, 3 * index + 3)
    return new Piece(text as string, { ...writer, before: changed(writer.before, before), after: changed(writer.after, after) }, from, partial, previous)
  }, start)
}

/** The spans of the output that a chain of pieces makes. */
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
