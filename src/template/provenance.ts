import type { JsonObject } from '../base/json.ts'
import type { Position } from './tags.ts'

/** A source from which values are read by paths, such as the variables of the caller. */
export interface Source {
  /** Whether the source is the caller's variables, and not a shared variable. */
  isCallers (): boolean
  /** The origin (as the explanation shows it) of the value at a path. */
  originAt (path: string): Origin
}

/** The most origins that are kept for one value. */
const MAX_ORIGINS = 100

/** The length at which a path is cut, in UTF-16 units, since the names in it come from strangers. */
const MAX_PATH = 200

/** Facts about a value's origin, in addition to the place from which it was read. */
interface More {
  /** The origins of all other values that contributed to the value. */
  readonly origins: readonly Origin[]
  /** The provenance of those members that do not come from the value's own place, such as the named arguments of a partial, by name. */
  readonly members: ReadonlyMap<string, Provenance> | undefined
}

const NO_MORE: More = { origins: [], members: undefined }

/**
 * The provenance of a value: where the value comes from. A render makes one for every round of a loop, so making one must be fast: it only points to
 * the provenance of the value that contains it, and a path is built from these links when somebody asks for it.
 */
export class Provenance {
  /** The source from which the value was read. It is set only for an unchanged value, of which each member lies in the same source, below the value's path. */
  readonly source: Source | undefined
  /** The provenance of the value that contains this one; `undefined` at the beginning of the path. */
  readonly holder: Provenance | undefined
  /** The name or index of this value in the value that contains it; the whole path, when `holder` is `undefined`. */
  readonly name: string | number
  readonly more: More
  #known: Path | undefined

  constructor (source: Source | undefined, holder: Provenance | undefined, name: string | number, more: More) {
    this.source = source
    this.holder = holder
    this.name = name
    this.more = more
  }

  /** Whether the value was read unchanged from one place, which is its only origin. Then the same is true of every member of the value. */
  get isSingle (): boolean {
    return this.more === NO_MORE && this.source !== undefined
  }

  /** The value's path from the scope root (the object with all variables). A path that is too long is cut, and ends in `…`. */
  get path (): string {
    return this.#knownPath().text
  }

  /** The path of a member of this value. `names` lead from this value to the member, one level after the other. */
  pathOf (names: readonly string[]): string {
    let path = this.#knownPath()
    for (const name of names) path = below(path, name)
    return path.text
  }

  #knownPath (): Path {
    if (this.#known !== undefined) return this.#known
    const links: Provenance[] = []
    let known: Path | undefined
    for (let link: Provenance | undefined = this; link !== undefined && known === undefined; link = link.holder) {
      known = link.#known
      if (known === undefined) links.push(link)
    }
    for (let link = links.pop(); link !== undefined; link = links.pop()) known = link.#known = below(known, String(link.name))
    return known as Path
  }
}

/** A path, and whether it was cut. */
interface Path { readonly text: string, readonly isElided: boolean }

function below (path: Path | undefined, name: string): Path {
  if (path === undefined) return { text: name, isElided: false }
  if (path.isElided) return path
  if (path.text.length + name.length < MAX_PATH) return { text: `${path.text}.${name}`, isElided: false }
  return { text: `${path.text}.…`, isElided: true }
}

/** The provenance of values that come from no variable: those that the template itself contains, and the scope root (the object with all variables). */
export const NOWHERE = new Provenance(undefined, undefined, '', NO_MORE)

/** The provenance of a value that is read unchanged from a path of a source. */
export function placed (path: string, source: Source): Provenance {
  return new Provenance(source, undefined, path, NO_MORE)
}

/** The provenance of a value of which only the origins are known. */
export function originated (origins: readonly Origin[]): Provenance {
  return new Provenance(undefined, undefined, '', { origins, members: undefined })
}

/** The provenance of a value that was made from other values, or that could be found only by reading other values. */
export function made (from: readonly Provenance[]): Provenance {
  const [only = NOWHERE] = from
  return originated(from.length < 2 ? originsOf(only) : distinct(from.flatMap(originsOf)))
}

/** A copy of a value's provenance, in which one member of the value has a provenance of its own. */
export function withMember (holder: Provenance, name: string, member: Provenance): Provenance {
  const { origins, members } = holder.more
  return new Provenance(holder.source, holder.holder, holder.name, { origins, members: new Map(members).set(name, member) })
}

/** All origins of a value, each once. */
export function originsOf (provenance: Provenance): readonly Origin[] {
  const { source, more: { origins, members } } = provenance
  const own = source === undefined ? origins : [source.originAt(provenance.path), ...origins]
  return members === undefined ? own : distinct([...own, ...[...members.values()].flatMap(originsOf)])
}

/** All origins of a member of a value. `names` lead from the value to the member, one level after the other. */
function originsBelow (provenance: Provenance, names: readonly string[]): readonly Origin[] {
  const { source, isSingle } = provenance
  if (!isSingle || source === undefined) return originsOf(followed(provenance, names))
  return [source.originAt(provenance.pathOf(names))]
}

/** The provenance of a member of a value. */
export function memberOf (holder: Provenance, name: string | number): Provenance {
  const { source, more } = holder
  if (more.members === undefined) return source === undefined ? holder : new Provenance(source, holder, name, more)
  const named = more.members.get(String(name))
  return named ?? new Provenance(source, holder, name, { origins: more.origins, members: undefined })
}

/**
 * The provenance of a member of a value. `holder` is the provenance of that value. `names` lead from the value to the member, one level after the other.
 * @param from the index of the first name to follow; the names before it are ignored
 */
export function followed (holder: Provenance, names: readonly string[], from = 0): Provenance {
  let provenance = holder
  for (let index = from; index < names.length; index++) provenance = memberOf(provenance, names[index] as string)
  return provenance
}

/** The provenance `found` with the origins of `way` added: the value was found by reading the value whose provenance is `way`. */
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

/** An origin of a piece of output: what the piece was made from. */
export type Origin =
  /** The template itself: its text, its constants, the clock. */
  | { readonly kind: 'literal' }
  /** A variable that the caller sent; `path` is its path from the scope root: `variables.user.name`. */
  | { readonly kind: 'variable', readonly path: string }
  /**
   * A shared variable, or a branch (all shared variables whose names begin in the same way). `path` is the path that was read, `key` the variable's name,
   * `revision` a hash of its value. The key of a branch ends in `.*`. A branch has no revision when the template has read only the names in it.
   */
  | { readonly kind: 'environ', readonly path: string, readonly key: string, readonly revision?: string }
  /** The result of a tool call, or what replaces it; `call` is the index of the call in the render's list of tool calls. */
  | { readonly kind: 'tool', readonly tool: string, readonly call: number }
  /** A default that replaced a missing value: the default of the parameter at `path` or, without `path`, the fallback of a call of `default`. */
  | { readonly kind: 'default', readonly path?: string }

/** A span: a piece of output that one expression, or one stretch of the template's text, has written. */
export interface Span extends Position {
  readonly text: string
  /**
   * The id of the partial whose template has written the piece; `line` and `column` are then places in that partial. Left out when the prompt itself
   * has written it.
   */
  readonly partial?: string
  /** The origins of the piece: at least one and at most 100, each once. */
  readonly sources: readonly Origin[]
}

/** The outcome of a tool call. */
export interface TracedAnswer {
  /**
   * How the call ended. Only for `ok` and `failed` was a call of the tool tried. The result of a `cached` call is the tool's own from an earlier call, that
   * of a `recorded` call comes from a recorded render, and a `stubbed` call has the tool's default or `NOTHING`.
   */
  readonly outcome: 'ok' | 'cached' | 'failed' | 'recorded' | 'stubbed'
  /** The duration of the call, in ms. */
  readonly durationMs: number
  /** The error code that says why the call failed. */
  readonly error?: string | undefined
}

/** A tool call that was made for a render. */
export interface TracedCall extends TracedAnswer {
  readonly tool: string
  /** The arguments as they were sent; left out when they are long. */
  readonly arguments?: JsonObject
}

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
