import { renderBudget } from '../base/errors.ts'
import { contentHash, type Json } from '../base/json.ts'
import { type ToolCall } from './template-function.ts'
import { Absent, isData, isSpecial, isToolResult, LazyNode, type ValueObject } from './value.ts'
import {
  followed, foundThrough, made, memberOf, NOWHERE, originated, originsOf, Piece, placed, type Provenance, type Span, spansOf, textsSince, type TracedAnswer,
  type TracedCall, withMember, withTexts, type Writer
} from './provenance.ts'

/** The most spans and origins, counted together, in the explanation of one render. */
const MAX_SIZE = 20_000

/** The most origins that one render, in all its passes, looks at when it joins the origins of several values of which another value was made. */
const MAX_JOINED = 200_000

/** The length of the longest arguments of a tool call that an explanation shows, as JSON, in UTF-16 units. Longer arguments are left out. */
const MAX_ARGUMENTS = 16 * 1024

const NO_PASSES: readonly number[] = []

/** The value that a block looks at (such as the list of a loop), and where the value comes from. */
export interface Header { readonly value: unknown, readonly provenance: Provenance }

/**
 * The trace of a run records how the run's output is made. Templates that are compiled to be explained report to it what they read while they evaluate
 * an expression, and what they write. A run evaluates the template in passes, until all tool results and shared variables that it needs are known. The
 * reports of the last pass are kept, because the output of that pass is the result.
 *
 * The provenance of each value that was read is put on a stack. Code that wants to know what an expression has read takes the `mark` (the height of the
 * stack) before it evaluates the expression, and afterwards looks at the entries above the mark.
 *
 * Nearly all values that are printed, looped over or passed on are at paths of the caller's variables, so there are faster ways for them: code that can
 * read such a path without evaluating it reports the path's provenance itself (`writeBelow`, `hand`); otherwise `resolveOrigin` tries to find it.
 */
export class Trace {
  /** The value of the block whose body runs next (such as the list of a loop), and the provenance of that value. */
  header: Header | undefined
  #passes: readonly number[] = NO_PASSES
  #texts: Array<Piece | undefined> | undefined
  #last: Piece | undefined
  #size = 0
  #joined = 0
  // The stack of what was read is made when it is needed: most renders read only plain paths, which are not put on it.
  #reads: Provenance[] | undefined
  #top = 0
  #argument = NOWHERE
  // Both maps are made when they are needed. Most renders call no tool and read no shared variable, and making a map takes as long as noting a short
  // piece of output.
  #calls: Map<string, { readonly call: TracedCall, readonly provenance: Provenance }> | undefined
  #revisions: Map<string, string> | undefined

  /** Forgets what the pass before this one has read and written. The tool calls and the durations of all passes are kept. */
  beginPass (): void {
    this.#texts = undefined
    this.#last = undefined
    this.#size = 0
    this.#top = 0
    this.#argument = NOWHERE
  }

  endPass (milliseconds: number): void {
    this.#passes = [...this.#passes, rounded(milliseconds)]
  }

  /** The duration of each pass, in ms. */
  get passes (): readonly number[] {
    return this.#passes
  }

  /** Called when one text of the prompt is complete: the pieces written since the text before it become the spans of this text. */
  endText (): void {
    // Most renders have one text. An array that grows by `push` would allocate room for many.
    if (this.#texts === undefined) this.#texts = [this.#last]
    else this.#texts.push(this.#last)
    this.#last = undefined
  }

  /** The spans (pieces of the output with their origins) of each complete text of the prompt. They are made on request. */
  get texts (): ReadonlyArray<readonly Span[]> {
    return this.#texts?.map(spansOf) ?? []
  }

  /** The tool calls that were made, in the order in which they were answered. */
  get calls (): readonly TracedCall[] {
    return Array.from(this.#calls?.values() ?? [], ({ call }) => call)
  }

  /** Notes the outcome of a tool call. */
  answered ({ key, tool, arguments: values }: ToolCall, { outcome, durationMs, error }: TracedAnswer): void {
    this.#calls ??= new Map()
    const provenance = originated([{ kind: 'tool', tool: tool.id, call: this.#calls.size }])
    const shown = key.length > MAX_ARGUMENTS ? {} : { arguments: values }
    this.#calls.set(key, { call: { tool: tool.id, ...shown, outcome, ...(error === undefined ? {} : { error }), durationMs: rounded(durationMs) }, provenance })
  }

  /** The present height of the stack of what was read. Other methods take it to find what was read since then. */
  get mark (): number {
    return this.#top
  }

  read (provenance: Provenance): void {
    this.#reads ??= []
    this.#reads[this.#top++] = provenance
  }

  /** Notes that the template reads the result of a tool call. @param key the key of the call */
  readCall (key: string): void {
    const answered = this.#calls?.get(key)
    if (answered !== undefined) this.read(answered.provenance)
  }

  /** Notes that a shared variable is read, or only one member of its value. */
  readEnviron (key: string, value: Json, member?: string): void {
    const revision = this.#revisionOf(key, value)
    const whole = placed(key, { isCallers: () => false, originAt: path => ({ kind: 'environ', path, key, revision }) })
    this.read(member === undefined ? whole : memberOf(whole, member))
  }

  /**
   * Notes that the template reads a branch: the shared variables whose names begin with `path`.
   * @param value their values; left out when only the names are read
   */
  readBranch (path: string, value?: Json): void {
    const key = path === '' ? '*' : `${path}.*`
    const revision = value === undefined ? {} : { revision: this.#revisionOf(key, value) }
    this.read(originated([{ kind: 'environ', path: key, key, ...revision }]))
  }

  /**
   * Takes off the stack what was read since `mark` (an earlier height of the stack), and gives the provenance of a value that was made from it.
   * @throws RENDER_BUDGET
   */
  take (mark: number): Provenance {
    const count = this.#top - mark
    this.#top = mark
    if (count === 0 || this.#reads === undefined) return NOWHERE
    if (count === 1) return this.#reads[mark] as Provenance
    const reads = this.#reads.slice(mark, mark + count)
    for (const read of reads) this.#payJoining(read)
    return made(reads)
  }

  /** Forgets what was read since `mark`, an earlier height of the stack. */
  drop (mark: number): void {
    this.#top = mark
  }

  /** Replaces what was read since `mark` (an earlier height of the stack) by the provenance of one value that was made from it. */
  seal (mark: number): void {
    if (this.#top > mark) this.read(made([this.take(mark)]))
  }

  /**
   * Finds the provenance of a path's value from what was read since `mark` (an earlier height of the stack), while the path was evaluated. If nothing was
   * read, the value is a member, at any depth, of the value with the provenance `start`. If only one of the caller's variables was read, the first name of
   * the path was found at the scope root, and the value is a member of that variable. `undefined` in all other cases, and for null and the special
   * values (`PENDING`, `Absent`, …).
   * @param start the provenance of the value with which the path begins
   */
  resolveOrigin (start: Provenance, names: readonly string[], value: unknown, mark: number): Provenance | undefined {
    const count = this.#top - mark
    this.#top = mark
    if (!isData(value)) return undefined
    if (count === 0) return followed(start, names)
    const read = this.#reads?.[mark]
    return count === 1 && read?.source?.isCallers() === true ? followed(read, names, 1) : undefined
  }

  /**
   * Notes a printed text that was made from a member, at any depth, of another value.
   * @param from the provenance of that other value
   * @returns `false`, and notes nothing, unless that other value was read unchanged from one place
   * @throws RENDER_BUDGET
   */
  writeBelow (text: string, writer: Writer, from: Provenance, partial: string | undefined): boolean {
    if (!from.isSingle) return false
    this.#pay(writer.spans + 1)
    this.#last = new Piece(text, writer, from, partial, this.#last)
    return true
  }

  /**
   * Notes that the template reads a member of a value; `names` lead from the value to the member, one level after the other. When the member does not
   * exist, nothing is noted, except when the result of a tool lacks it: then that result is noted.
   */
  follow (from: Provenance, value: unknown, names: readonly string[]): void {
    let provenance = from
    let holder = value
    for (const name of names) {
      const step = this.#step(provenance, holder, name)
      // A member that a tool's result lacks has the value `NOTHING`, and the tool is the origin of that.
      if (step === undefined) return isFromTool(holder, provenance) ? this.read(provenance) : undefined
      provenance = step.provenance
      holder = step.value
    }
    if (!(holder instanceof Absent)) this.read(provenance)
  }

  /**
   * The provenance of an element or member of a value.
   * @param from the provenance of the whole value, which is also the result when there is no such member
   * @param key the index or name
   */
  member (from: Provenance, holder: unknown, key: string): Provenance {
    return this.#step(from, holder, key)?.provenance ?? from
  }

  #step (provenance: Provenance, holder: unknown, name: string): { provenance: Provenance, value: unknown } | undefined {
    if (holder instanceof LazyNode) {
      const { mark } = this
      const value = holder.field(name)
      const found = this.take(mark)
      this.#payJoining(provenance)
      return { value, provenance: provenance.more.members?.get(name) ?? foundThrough(provenance, found) }
    }
    if (typeof holder !== 'object' || holder === null || isSpecial(holder) || !Object.hasOwn(holder, name)) return undefined
    return { value: (holder as ValueObject)[name], provenance: memberOf(provenance, name) }
  }

  /** Sets the provenance of the argument for the template that is called next. */
  hand (argument: Provenance): void {
    this.#argument = argument
  }

  /** Adds the provenance of a named argument for the template that is called next. */
  handNamed (name: string, provenance: Provenance): void {
    this.#argument = withMember(this.#argument, name, provenance)
  }

  /** Gives the provenance that `hand` has set for the argument of the template that begins now, and clears it. */
  takeArgument (): Provenance {
    const argument = this.#argument
    this.#argument = NOWHERE
    return argument
  }

  /** Notes a piece of output that was made from what was read since `mark` (an earlier height of the stack). @throws RENDER_BUDGET */
  write (text: string, writer: Writer, partial: string | undefined, mark: number): void {
    const from = this.take(mark)
    this.#pay(writer.spans + (from.isSingle ? 1 : originsOf(from).length))
    this.#last = new Piece(text, writer, from, partial, this.#last)
  }

  /** Notes a piece of the template's own text as output. @throws RENDER_BUDGET */
  writeLiteral (text: string, writer: Writer, partial: string | undefined): void {
    this.#pay(1)
    this.#last = new Piece(text, writer, undefined, partial, this.#last)
  }

  /** The piece that was written last to the present text; `undefined` before the first one. */
  get last (): Piece | undefined {
    return this.#last
  }

  /**
   * Changes the texts that were written after the piece `start`, and gives the changed texts, joined.
   * @param change returns one text for each text that it gets
   */
  rewrite (start: Piece | undefined, change: (texts: readonly string[]) => readonly string[]): string {
    const texts = change(textsSince(this.#last, start))
    this.#last = withTexts(this.#last, start, texts)
    return texts.join('')
  }

  #pay (size: number): void {
    this.#size += size
    if (this.#size > MAX_SIZE) throw renderBudget('spans and sources to be explained', MAX_SIZE)
  }

  #payJoining (provenance: Provenance): void {
    this.#joined += originsOf(provenance).length
    if (this.#joined > MAX_JOINED) throw renderBudget('sources to be joined', MAX_JOINED)
  }

  #revisionOf (key: string, value: Json): string {
    this.#revisions ??= new Map()
    const known = this.#revisions.get(key)
    if (known !== undefined) return known
    const revision = contentHash(value)
    this.#revisions.set(key, revision)
    return revision
  }
}

/** A duration rounded to a microsecond, in ms. */
function rounded (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}

function isFromTool (value: unknown, provenance: Provenance): boolean {
  if (typeof value === 'object' && value !== null) return isToolResult(value)
  return originsOf(provenance).some(({ kind }) => kind === 'tool')
}
