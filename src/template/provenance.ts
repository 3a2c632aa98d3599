import type { JsonObject } from '../base/json.ts'
import type { Position } from './tags.ts'

export interface ValueSource {
  isCallers (): boolean
  originAt (path: string): Origin
}

const MAX_ORIGINS = 100

/** In UTF-16 units: the names in a path come from strangers. */
const MAX_PATH = 200

interface More {
  readonly origins: readonly Origin[]
  /** For members that do not come from the value's own place, such as a partial's named arguments. */
  readonly members: ReadonlyMap<string, Provenance> | undefined
}

const NO_MORE: More = { origins: [], members: undefined }

/** Where a value comes from. Made in every round of a loop, so it only links to its holder; paths are built on request. */
export class Provenance {
  /** Set only for an unchanged value, whose members all lie in the same source below its path. */
  readonly source: ValueSource | undefined
  readonly holder: Provenance | undefined
  readonly name: string | number
  readonly more: More
  #known: CutPath | undefined

  constructor (source: ValueSource | undefined, holder: Provenance | undefined, name: string | number, more: More) {
    this.source = source
    this.holder = holder
    this.name = name
    this.more = more
  }

  /** Read unchanged from one place, its only origin; the same is then true of its members. */
  get isSingle (): boolean {
    return this.more === NO_MORE && this.source !== undefined
  }

  get path (): string {
    return this.#knownPath().text
  }

  pathOf (names: readonly string[]): string {
    let path = this.#knownPath()
    for (const name of names) path = below(path, name)
    return path.text
  }

  #knownPath (): CutPath {
    if (this.#known !== undefined) return this.#known
    const links: Provenance[] = []
    let known: CutPath | undefined
    for (let link: Provenance | undefined = this; link !== undefined && known === undefined; link = link.holder) {
      known = link.#known
      if (known === undefined) links.push(link)
    }
    for (let link = links.pop(); link !== undefined; link = links.pop()) known = link.#known = below(known, String(link.name))
    return known as CutPath
  }
}

interface CutPath { readonly text: string, readonly isElided: boolean }

function below (path: CutPath | undefined, name: string): CutPath {
  if (path === undefined) return { text: name, isElided: false }
  if (path.isElided) return path
  if (path.text.length + name.length < MAX_PATH) return { text: `${path.text}.${name}`, isElided: false }
  return { text: `${path.text}.…`, isElided: true }
}

export const NOWHERE = new Provenance(undefined, undefined, '', NO_MORE)

export function placed (path: string, source: ValueSource): Provenance {
  return new Provenance(source, undefined, path, NO_MORE)
}

export function originated (origins: readonly Origin[]): Provenance {
  return new Provenance(undefined, undefined, '', { origins, members: undefined })
}

export function made (from: readonly Provenance[]): Provenance {
  const [only = NOWHERE] = from
  return originated(from.length < 2 ? originsOf(only) : distinct(from.flatMap(originsOf)))
}

export function withMember (holder: Provenance, name: string, member: Provenance): Provenance {
  const { origins, members } = holder.more
  return new Provenance(holder.source, holder.holder, holder.name, { origins, members: new Map(members).set(name, member) })
}

export function originsOf (provenance: Provenance): readonly Origin[] {
  const { source, more: { origins, members } } = provenance
  const own = source === undefined ? origins : [source.originAt(provenance.path), ...origins]
  return members === undefined ? own : distinct([...own, ...[...members.values()].flatMap(originsOf)])
}

function originsBelow (provenance: Provenance, names: readonly string[]): readonly Origin[] {
  const { source, isSingle } = provenance
  if (!isSingle || source === undefined) return originsOf(followed(provenance, names))
  return [source.originAt(provenance.pathOf(names))]
}

export function memberOf (holder: Provenance, name: string | number): Provenance {
  const { source, more } = holder
  if (more.members === undefined) return source === undefined ? holder : new Provenance(source, holder, name, more)
  const named = more.members.get(String(name))
  return named ?? new Provenance(source, holder, name, { origins: more.origins, members: undefined })
}

export function followed (holder: Provenance, names: readonly string[], from = 0): Provenance {
  let provenance = holder
  for (let index = from; index < names.length; index++) provenance = memberOf(provenance, names[index] as string)
  return provenance
}

export function foundThrough (way: Provenance, found: Provenance): Provenance {
  const { source, more: { origins } } = way
  const met = source === undefined ? origins : [source.originAt(way.path), ...origins]
  if (met.length === 0) return found
  return new Provenance(found.source, found.holder, found.name, { ...found.more, origins: distinct([...met, ...found.more.origins]) })
}

function distinct (origins: readonly Origin[]): readonly Origin[] {
  if (origins.length < 2) return origins
  const known = new Map<string, Origin>()
  for (const origin of origins) {
    known.set(JSON.stringify(origin), origin)
    if (known.size === MAX_ORIGINS) break
  }
  return [...known.values()]
}

export type Origin =
  | { readonly kind: 'literal' }
  /** `path` is from the scope root: `variables.user.name`. */
  | { readonly kind: 'variable', readonly path: string }
  /** The key of a branch (variables whose names begin alike) ends in `.*`; it has no revision when only names were read. */
  | { readonly kind: 'environ', readonly path: string, readonly key: string, readonly revision?: string }
  /** `call` is the index in the render's list of tool calls. */
  | { readonly kind: 'tool', readonly tool: string, readonly call: number }
  /** The parameter's default at `path`; without `path`, the fallback of a call of `default`. */
  | { readonly kind: 'default', readonly path?: string }

export interface OutputSpan extends Position {
  readonly text: string
  /** The partial that wrote the piece, in which `line` and `column` then are. */
  readonly partial?: string
  /** At least one and at most 100, each once. */
  readonly sources: readonly Origin[]
}

export interface TracedAnswer {
  /** Only for `ok` and `failed` was a call tried; `recorded` comes from a recorded render, `stubbed` is the tool's default or `NOTHING`. */
  readonly outcome: 'ok' | 'cached' | 'failed' | 'recorded' | 'stubbed'
  readonly durationMs: number
  readonly error?: string | undefined
}

export interface TracedCall extends TracedAnswer {
  readonly tool: string
  /** Left out when they are long. */
  readonly arguments?: JsonObject
}

export interface LiteralText extends Position { readonly text: string }

/** The template's texts beside an expression are noted together with it, which is faster. */
export interface Beside {
  readonly before: LiteralText | undefined
  /** The text after the expression; set only when the block around it ends with that text. Otherwise the text is noted together with the next expression. */
  readonly after: LiteralText | undefined
}

export interface Writer extends Position, Beside {
  readonly names: readonly string[]
  readonly spans: number
}

/** Paths are made when spans are read. Pieces are a linked list, the last first: a growing array made long renders a fifth slower. */
export class Piece {
  readonly text: string
  readonly writer: Writer
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

export const ALONE: Beside = { before: undefined, after: undefined }

export function literalWriter (at: Position): Writer {
  return writerAt(at, ALONE)
}

export function writerAt ({ line, column }: Position, { before, after }: Beside, names: readonly string[] = NO_NAMES): Writer {
  return { line, column, before, after, names, spans: 1 + (before === undefined ? 0 : 1) + (after === undefined ? 0 : 1) }
}

export interface PathWriter {
  readonly made: Writer
  readonly below: Writer
  /** For paths from the root's `variables` or `args`, reported as a member of all variables: `names` lack that first name. */
  readonly belowRoot: Writer
}

export function pathWriter (at: Position, beside: Beside, names: readonly string[]): PathWriter {
  return { made: writerAt(at, beside), below: writerAt(at, beside, names), belowRoot: writerAt(at, beside, names.slice(1)) }
}

function listOf (last: Piece | undefined, start: Piece | undefined): Piece[] {
  const pieces: Piece[] = []
  for (let piece = last; piece !== undefined && piece !== start; piece = piece.previous) pieces.push(piece)
  return pieces.reverse()
}

/** Three texts per piece: before it, its own, after it. */
export function textsSince (last: Piece | undefined, start: Piece | undefined): string[] {
  return listOf(last, start).flatMap(({ text, writer: { before, after } }) => [before?.text ?? '', text, after?.text ?? ''])
}

export function withTexts (last: Piece | undefined, start: Piece | undefined, texts: readonly string[]): Piece | undefined {
  const changed = (literal: LiteralText | undefined, text: string | undefined): LiteralText | undefined => literal && { ...literal, text: text as string }
  return listOf(last, start).reduce<Piece | undefined>((previous, { writer, from, partial }, index) => {
    const [before, text, after] = texts.slice(3 * index, 3 * index + 3)
    return new Piece(text as string, { ...writer, before: changed(writer.before, before), after: changed(writer.after, after) }, from, partial, previous)
  }, start)
}

export function spansOf (last: Piece | undefined): OutputSpan[] {
  const spans: OutputSpan[] = []
  for (const { text, writer, from, partial } of listOf(last, undefined)) {
    const { before, after } = writer
    if (before !== undefined) spans.push(span(before.text, before, partial, LITERAL))
    const sources = from === undefined ? LITERAL : originsBelow(from, writer.names)
    spans.push(span(text, writer, partial, sources.length === 0 ? LITERAL : sources))
    if (after !== undefined) spans.push(span(after.text, after, partial, LITERAL))
  }
  return spans
}

function span (text: string, { line, column }: Position, partial: string | undefined, sources: readonly Origin[]): OutputSpan {
  return partial === undefined ? { text, line, column, sources } : { text, line, column, partial, sources }
}
