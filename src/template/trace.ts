import { renderBudget } from '../base/errors.ts'
import { contentHash, type Json } from '../base/json.ts'
import { type ToolCall } from './template-function.ts'
import { Absent, isData, isSpecial, isToolResult, LazyNode, type ValueObject } from './value.ts'
import {
  followed, foundThrough, made, memberOf, NOWHERE, originated, originsOf, Piece, placed, type Provenance, type OutputSpan, spansOf, textsSince,
  type TracedAnswer,
  type TracedCall, withMember, withTexts, type Writer
} from './provenance.ts'

/** The most spans and origins, counted together, in the explanation of one render. */
const MAX_SIZE = 20_000

/** Bounds the origins that one render, in all its passes, looks at to join those of several values. */
const MAX_JOINED = 200_000

/** In UTF-16 units of JSON; longer arguments are left out. */
const MAX_ARGUMENTS = 16 * 1024

const NO_PASSES: readonly number[] = []

export interface Header { readonly value: unknown, readonly provenance: Provenance }

/** Records how output is made, for the last pass only. What is read goes on a stack; plain paths have faster ways that skip it. */
export class Trace {
  header: Header | undefined
  #passes: readonly number[] = NO_PASSES
  #texts: Array<Piece | undefined> | undefined
  #last: Piece | undefined
  #size = 0
  #joined = 0
  // Made when needed: most renders read only plain paths, which are not put on it.
  #reads: Provenance[] | undefined
  #top = 0
  #argument = NOWHERE
  // Made when needed: most renders use neither, and a map costs as much as noting a short piece.
  #calls: Map<string, { readonly call: TracedCall, readonly provenance: Provenance }> | undefined
  #revisions: Map<string, string> | undefined

  /** Tool calls and durations of all passes are kept. */
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

  get passes (): readonly number[] {
    return this.#passes
  }

  endText (): void {
    // Most renders have one text; an array that grows by `push` would allocate room for many.
    if (this.#texts === undefined) this.#texts = [this.#last]
    else this.#texts.push(this.#last)
    this.#last = undefined
  }

  get texts (): ReadonlyArray<readonly OutputSpan[]> {
    return this.#texts?.map(spansOf) ?? []
  }

  /** In the order in which they were answered. */
  get calls (): readonly TracedCall[] {
    return Array.from(this.#calls?.values() ?? [], ({ call }) => call)
  }

  answered ({ key, tool, arguments: values }: ToolCall, { outcome, durationMs, error }: TracedAnswer): void {
    this.#calls ??= new Map()
    const provenance = originated([{ kind: 'tool', tool: tool.id, call: this.#calls.size }])
    const shown = key.length > MAX_ARGUMENTS ? {} : { arguments: values }
    this.#calls.set(key, { call: { tool: tool.id, ...shown, outcome, ...(error === undefined ? {} : { error }), durationMs: rounded(durationMs) }, provenance })
  }

  get mark (): number {
    return this.#top
  }

  read (provenance: Provenance): void {
    this.#reads ??= []
    this.#reads[this.#top++] = provenance
  }

  readCall (key: string): void {
    const answered = this.#calls?.get(key)
    if (answered !== undefined) this.read(answered.provenance)
  }

  readEnviron (key: string, value: Json, member?: string): void {
    const revision = this.#revisionOf(key, value)
    const whole = placed(key, { isCallers: () => false, originAt: path => ({ kind: 'environ', path, key, revision }) })
    this.read(member === undefined ? whole : memberOf(whole, member))
  }

  readBranch (path: string, value?: Json): void {
    const key = path === '' ? '*' : `${path}.*`
    const revision = value === undefined ? {} : { revision: this.#revisionOf(key, value) }
    this.read(originated([{ kind: 'environ', path: key, key, ...revision }]))
  }

  /** @throws RENDER_BUDGET */
  take (mark: number): Provenance {
    const count = this.#top - mark
    this.#top = mark
    if (count === 0 || this.#reads === undefined) return NOWHERE
    if (count === 1) return this.#reads[mark] as Provenance
    const reads = this.#reads.slice(mark, mark + count)
    for (const read of reads) this.#payJoining(read)
    return made(reads)
  }

  drop (mark: number): void {
    this.#top = mark
  }

  seal (mark: number): void {
    if (this.#top > mark) this.read(made([this.take(mark)]))
  }

  /** If nothing was read since `mark`, the value is below `start`; if one variable was, below that. `undefined` otherwise. */
  resolveOrigin (start: Provenance, names: readonly string[], value: unknown, mark: number): Provenance | undefined {
    const count = this.#top - mark
    this.#top = mark
    if (!isData(value)) return undefined
    if (count === 0) return followed(start, names)
    const read = this.#reads?.[mark]
    return count === 1 && read?.source?.isCallers() === true ? followed(read, names, 1) : undefined
  }

  /** Notes nothing, and returns `false`, unless `from` was read unchanged from one place. @throws RENDER_BUDGET */
  writeBelow (text: string, writer: Writer, from: Provenance, partial: string | undefined): boolean {
    if (!from.isSingle) return false
    this.#pay(writer.spans + 1)
    this.#last = new Piece(text, writer, from, partial, this.#last)
    return true
  }

  /** A member that does not exist is noted only when a tool's result lacks it: then that result is. */
  follow (from: Provenance, value: unknown, names: readonly string[]): void {
    let provenance = from
    let holder = value
    for (const name of names) {
      const step = this.#step(provenance, holder, name)
      // A member that a tool's result lacks is `NOTHING`, whose origin is the tool.
      if (step === undefined) return isFromTool(holder, provenance) ? this.read(provenance) : undefined
      provenance = step.provenance
      holder = step.value
    }
    if (!(holder instanceof Absent)) this.read(provenance)
  }

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

  hand (argument: Provenance): void {
    this.#argument = argument
  }

  handNamed (name: string, provenance: Provenance): void {
    this.#argument = withMember(this.#argument, name, provenance)
  }

  takeArgument (): Provenance {
    const argument = this.#argument
    this.#argument = NOWHERE
    return argument
  }

  /** @throws RENDER_BUDGET */
  write (text: string, writer: Writer, partial: string | undefined, mark: number): void {
    const from = this.take(mark)
    this.#pay(writer.spans + (from.isSingle ? 1 : originsOf(from).length))
    this.#last = new Piece(text, writer, from, partial, this.#last)
  }

  /** @throws RENDER_BUDGET */
  writeLiteral (text: string, writer: Writer, partial: string | undefined): void {
    this.#pay(1)
    this.#last = new Piece(text, writer, undefined, partial, this.#last)
  }

  get last (): Piece | undefined {
    return this.#last
  }

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

function rounded (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}

function isFromTool (value: unknown, provenance: Provenance): boolean {
  if (typeof value === 'object' && value !== null) return isToolResult(value)
  return originsOf(provenance).some(({ kind }) => kind === 'tool')
}
