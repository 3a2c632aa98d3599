import { renderBudget } from '../../errors.ts'
import { contentHash } from '../../json.ts'
import { type Position } from '../language.ts'
import { type ToolCall } from '../run.ts'
import { Absent, isSpecial, isToolResult, type Json, LazyNode, type ValueObject } from '../value.ts'
import { indentSpans } from './indent-spans.ts'
import { type Origin, type Span, type TracedAnswer, type TracedCall } from './origin.ts'
import { foundThrough, made, memberOf, NOWHERE, originsOf, placed, type Provenance } from './provenance.ts'

/** How many spans, and sources of spans, one render is explained with. */
const MAX_SIZE = 20_000

/** How many sources may be looked at to join those of values that are made of several, over all passes. */
const MAX_JOINED = 200_000

/** Arguments whose JSON is longer are left out of a call, in UTF-16 units. */
const MAX_ARGUMENTS = 16 * 1024

const LITERAL: readonly Origin[] = [{ kind: 'literal' }]

/** What a partial or a local template is entered with. */
export interface Entry {
  /** Where its argument comes from. */
  readonly argument: Provenance
  /** Its id, if it is a prompt of its own. */
  readonly partial: string | undefined
}

/**
 * How the output of a run comes about. Templates that are compiled to be explained tell it what they read while they
 * evaluate an expression, and what they write; of both only the last pass stays, which is the one that counts.
 *
 * What is read lies on a stack: who wants to know what an expression has read takes its `mark` before it evaluates the
 * expression, and what lies above the mark after it.
 */
export class Trace {
  /** How long each pass took, in ms. */
  readonly passes: number[] = []
  /** The spans of every text that is complete. */
  readonly texts: Array<readonly Span[]> = []
  #spans: Span[] = []
  #size = 0
  #joined = 0
  readonly #reads: Provenance[] = []
  #argument = NOWHERE
  #partial: string | undefined
  #bound = new WeakMap<object, Provenance>()
  readonly #calls = new Map<string, { readonly call: TracedCall, readonly provenance: Provenance }>()
  readonly #revisions = new Map<string, string>()

  /** Forgets what the last pass read and wrote; calls and times stay. */
  beginPass (): void {
    this.texts.length = 0
    this.#spans = []
    this.#size = 0
    this.#reads.length = 0
    this.#argument = NOWHERE
    this.#partial = undefined
    this.#bound = new WeakMap()
  }

  endPass (milliseconds: number): void {
    this.passes.push(rounded(milliseconds))
  }

  /** Ends a text: what was written since the last one ended are its spans. */
  endText (): void {
    this.texts.push(this.#spans)
    this.#spans = []
  }

  /** The calls that were made, in the order in which they were answered. */
  get calls (): readonly TracedCall[] {
    return Array.from(this.#calls.values(), ({ call }) => call)
  }

  /** Notes what became of a call. */
  answered ({ key, tool, arguments: values }: ToolCall, answer: TracedAnswer): void {
    const origin: Origin = { kind: 'tool', tool: tool.id, call: this.#calls.size }
    const shown = key.length > MAX_ARGUMENTS ? {} : { arguments: values }
    this.#calls.set(key, { call: { tool: tool.id, ...shown, ...answer, durationMs: rounded(answer.durationMs) }, provenance: { ...NOWHERE, origins: [origin] } })
  }

  /** How much has been read so far. */
  get mark (): number {
    return this.#reads.length
  }

  read (provenance: Provenance): void {
    this.#reads.push(provenance)
  }

  /** A call's result is read. */
  readCall (key: string): void {
    const answered = this.#calls.get(key)
    if (answered !== undefined) this.read(answered.provenance)
  }

  /** A shared variable is read, or one member of it. */
  readEnviron (key: string, value: Json, member?: string): void {
    const revision = this.#revisionOf(key, value)
    const whole = placed(key, path => ({ kind: 'environ', path, key, revision }))
    this.read(member === undefined ? whole : memberOf(whole, member))
  }

  /** A branch of the shared variables is read: as a whole, or no more than its names when there is no value. */
  readBranch (path: string, value?: Json): void {
    const key = path === '' ? '*' : `${path}.*`
    const revision = value === undefined ? {} : { revision: this.#revisionOf(key, value) }
    this.read({ ...NOWHERE, origins: [{ kind: 'environ', path: key, key, ...revision }] })
  }

  /**
   * Takes away what was read since a mark: where a value comes from that was made of it.
   * @throws RENDER_BUDGET
   */
  take (mark: number): Provenance {
    const count = this.#reads.length - mark
    if (count === 0) return NOWHERE
    if (count === 1) return this.#reads.pop() as Provenance
    const reads = this.#reads.splice(mark)
    for (const read of reads) this.#payJoining(read)
    return made(reads)
  }

  /** Forgets what was read since a mark. */
  drop (mark: number): void {
    this.#reads.length = mark
  }

  /** What was read since a mark has become one new value. */
  seal (mark: number): void {
    if (this.#reads.length > mark) this.read(made([this.take(mark)]))
  }

  /** Reads a member of a value, member by member; nothing is read when it is not there. */
  follow (from: Provenance, value: unknown, names: readonly string[]): void {
    let provenance = from
    let holder = value
    for (const name of names) {
      const step = this.#step(provenance, holder, name)
      // What a tool's result lacks is nothing, and the tool is why.
      if (step === undefined) return isFromTool(holder, provenance) ? this.read(provenance) : undefined
      provenance = step.provenance
      holder = step.value
    }
    if (!(holder instanceof Absent)) this.read(provenance)
  }

  /** The provenance of an element or member, by its key. */
  member (from: Provenance, holder: unknown, key: string): Provenance {
    return this.#step(from, holder, key)?.provenance ?? from
  }

  #step (provenance: Provenance, holder: unknown, name: string): { provenance: Provenance, value: unknown } | undefined {
    if (holder instanceof LazyNode) {
      const { mark } = this
      const value = holder.field(name)
      const found = this.take(mark)
      this.#payJoining(provenance)
      return { value, provenance: provenance.members?.get(name) ?? foundThrough(provenance, found) }
    }
    if (typeof holder !== 'object' || holder === null || isSpecial(holder) || !Object.hasOwn(holder, name)) return undefined
    return { value: (holder as ValueObject)[name], provenance: memberOf(provenance, name) }
  }

  /** Remembers, for this pass, where the value in something comes from. */
  bind (holder: object, provenance: Provenance): void {
    this.#bound.set(holder, provenance)
  }

  boundTo (holder: object): Provenance | undefined {
    return this.#bound.get(holder)
  }

  /** Says what the next template is called with. */
  hand (argument: Provenance): void {
    this.#argument = argument
  }

  /** Adds a named argument to that. */
  handNamed (name: string, provenance: Provenance): void {
    this.#argument = { ...this.#argument, members: new Map(this.#argument.members).set(name, provenance) }
  }

  /** Says that the next template is a prompt of its own. */
  enterPartial (id: string): void {
    this.#partial = id
  }

  /** Takes what was said about the template that begins. */
  takeEntry (): Entry {
    const entry = { argument: this.#argument, partial: this.#partial }
    this.#argument = NOWHERE
    this.#partial = undefined
    return entry
  }

  /**
   * Notes a piece of output, made from what was read since a mark.
   * @param mark left out for the template's own text
   * @throws RENDER_BUDGET
   */
  write (text: string, { line, column }: Position, partial: string | undefined, mark?: number): void {
    const origins = mark === undefined ? [] : originsOf(this.take(mark))
    this.#size += 1 + origins.length
    if (this.#size > MAX_SIZE) throw renderBudget('spans and sources to be explained', MAX_SIZE)
    this.#spans.push({ text, line, column, ...(partial === undefined ? {} : { partial }), sources: origins.length === 0 ? LITERAL : origins })
  }

  /** How many spans the text has so far. */
  get length (): number {
    return this.#spans.length
  }

  /** Indents every line that begins in the spans from one on. */
  indent (from: number, indent: string): void {
    this.#spans.push(...indentSpans(this.#spans.splice(from), indent))
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

/** To a microsecond. */
function rounded (milliseconds: number): number {
  return Math.round(milliseconds * 1000) / 1000
}

function isFromTool (value: unknown, provenance: Provenance): boolean {
  if (typeof value === 'object' && value !== null) return isToolResult(value)
  return originsOf(provenance).some(({ kind }) => kind === 'tool')
}
