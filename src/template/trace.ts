import { renderBudget } from '../base/errors.ts'
import { contentHash, type Json } from '../base/json.ts'
import type { Position } from './tags.ts'
import { type ToolCall } from './template-function.ts'
import { Absent, isData, isSpecial, isToolResult, LazyNode, type ValueObject } from './value.ts'
import {
  below, foundThrough, made, memberOf, NOWHERE, type Origin, originated, originsOf, type OutputSpan, placed, type Provenance, type TracedAnswer,
  type TracedCall, withMember
} from './provenance.ts'

/** The most spans and origins, counted together, in the explanation of one render. */
const MAX_SIZE = 20_000

/** Bounds the origins that one render, in all its passes, looks at to join those of several values. */
const MAX_JOINED = 200_000

/** In UTF-16 units of JSON; longer arguments are left out. */
const MAX_ARGUMENTS = 16 * 1024

/** A text of the template itself, at its place there. */
export interface LiteralText extends Position { readonly text: string }

interface Printed { readonly text: string, readonly at: Position, readonly from: Provenance }

type Noted = LiteralText | Printed | { readonly partial: string | undefined }

/**
 * Observes the render of a template that is compiled to be explained, and keeps the last pass. Languages tell it what is read (values go on a stack, from
 * which what is made of them takes them), what is printed, and with which argument a template is entered.
 */
export class Trace {
  readonly #passes: number[] = []
  #texts: Array<readonly Noted[]> = []
  #notes: Noted[] = []
  #partial: string | undefined
  #size = 0
  #joined = 0
  readonly #reads: Provenance[] = []
  #top = 0
  #argument = NOWHERE
  readonly #calls = new Map<string, { readonly call: TracedCall, readonly provenance: Provenance }>()
  readonly #revisions = new Map<string, string>()

  /** Tool calls and durations of all passes are kept. */
  beginPass (): void {
    this.#texts = []
    this.#notes = []
    this.#partial = undefined
    this.#size = 0
    this.#top = 0
    this.#argument = NOWHERE
  }

  endPass (milliseconds: number): void {
    this.#passes.push(rounded(milliseconds))
  }

  get passes (): readonly number[] {
    return this.#passes
  }

  endText (): void {
    this.#texts.push(this.#notes)
    this.#notes = []
    this.#partial = undefined
  }

  get texts (): ReadonlyArray<readonly OutputSpan[]> {
    return this.#texts.map(spansOf)
  }

  /** In the order in which they were answered. */
  get calls (): readonly TracedCall[] {
    return Array.from(this.#calls.values(), ({ call }) => call)
  }

  answered ({ key, tool, arguments: values }: ToolCall, { outcome, durationMs, error }: TracedAnswer): void {
    const provenance = originated([{ kind: 'tool', tool: tool.id, call: this.#calls.size }])
    const shown = key.length > MAX_ARGUMENTS ? {} : { arguments: values }
    this.#calls.set(key, { call: { tool: tool.id, ...shown, outcome, ...(error === undefined ? {} : { error }), durationMs: rounded(durationMs) }, provenance })
  }

  get mark (): number {
    return this.#top
  }

  read (provenance: Provenance): void {
    this.#reads[this.#top++] = provenance
  }

  readCall (key: string): void {
    const answered = this.#calls.get(key)
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

  /** What was read since `mark`, as one. @throws RENDER_BUDGET */
  take (mark: number): Provenance {
    const count = this.#top - mark
    this.#top = mark
    if (count === 0) return NOWHERE
    if (count === 1) return this.#reads[mark] as Provenance
    const reads = this.#reads.slice(mark, mark + count)
    for (const read of reads) this.#payJoining(read)
    return made(reads)
  }

  drop (mark: number): void {
    this.#top = mark
  }

  /**
   * Reads a value that was found below another one, `from`, by `names`. Only the scope root and shared variables can have reported since `mark`: if one
   * variable did, the value is below that, by `rest`, the names but the first.
   * @returns whether that tells where it comes from; `follow` finds it otherwise
   */
  readBelow (from: Provenance, names: readonly string[], rest: readonly string[], value: unknown, mark: number): boolean {
    const count = this.#top - mark
    this.#top = mark
    if (count > 1 || !isData(value)) return false
    if (count === 0) this.read(below(from, names))
    else {
      const read = this.#reads[mark] as Provenance
      if (read.source?.isCallers() !== true) return false
      this.read(below(read, rest))
    }
    return true
  }

  /** Reads what `names` lead to. A member that does not exist is noted only when a tool's result lacks it: then that result is. */
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

  /** Of an element or member over which a loop goes; those of a number are no members of it, but made from it. */
  element (from: Provenance, holder: unknown, key: string | number): Provenance {
    if (Array.isArray(holder) && from.source !== undefined) return memberOf(from, key)
    const found = this.#step(from, holder, String(key))?.provenance ?? from
    return holder instanceof LazyNode || found !== from ? found : made([from])
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

  /** The provenance of the argument, for the template that is entered next. */
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
  print (text: string, at: Position, from: Provenance, partial: string | undefined): void {
    this.#note({ text, at, from }, partial, 1 + (from.isSingle ? 1 : originsOf(from).length))
  }

  /** @throws RENDER_BUDGET */
  printLiteral (literal: LiteralText, partial: string | undefined): void {
    this.#note(literal, partial, 1)
  }

  #note (note: LiteralText | Printed, partial: string | undefined, size: number): void {
    this.#size += size
    if (this.#size > MAX_SIZE) throw renderBudget('spans and sources to be explained', MAX_SIZE)
    if (partial !== this.#partial) {
      this.#partial = partial
      this.#notes.push({ partial })
    }
    this.#notes.push(note)
  }

  /** Where the next note goes. */
  get end (): number {
    return this.#notes.length
  }

  rewrite (start: number, change: (texts: readonly string[]) => readonly string[]): string {
    const notes = this.#notes.splice(start)
    const texts = change(notes.flatMap(note => 'text' in note ? [note.text] : []))
    let index = 0
    for (const note of notes) this.#notes.push('text' in note ? { ...note, text: texts[index++] as string } : note)
    return texts.join('')
  }

  #payJoining (provenance: Provenance): void {
    this.#joined += originsOf(provenance).length
    if (this.#joined > MAX_JOINED) throw renderBudget('sources to be joined', MAX_JOINED)
  }

  #revisionOf (key: string, value: Json): string {
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

const LITERAL: readonly Origin[] = [{ kind: 'literal' }]

function spansOf (notes: readonly Noted[]): OutputSpan[] {
  const spans: OutputSpan[] = []
  let partial: string | undefined
  for (const note of notes) {
    if ('text' in note) {
      const { line, column } = 'at' in note ? note.at : note
      const origins = 'at' in note ? originsOf(note.from) : LITERAL
      const sources = origins.length === 0 ? LITERAL : origins
      spans.push(partial === undefined ? { text: note.text, line, column, sources } : { text: note.text, line, column, partial, sources })
    } else partial = note.partial
  }
  return spans
}

function isFromTool (value: unknown, provenance: Provenance): boolean {
  if (typeof value === 'object' && value !== null) return isToolResult(value)
  return originsOf(provenance).some(({ kind }) => kind === 'tool')
}
