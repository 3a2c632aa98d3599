import { type MissingPath, renderBudget, renderEndless, renderTimeout, type TextName } from '../../base/errors.ts'
import { type Json, type MutableObject, setMember } from '../../base/json.ts'
import { type EnvironSource, type EnvironValue } from './environ-source.ts'
import { type Position } from '../position.ts'
import { type Limits } from '../limits.ts'
import { type Trace } from '../explain/trace.ts'
import { GONE, NO_CALLS, NO_ENVIRONS, NO_MISSES, PassNotes, RunMemory } from './run-memory.ts'
import { type LinkedTool, type ToolCall, toolCallKey } from './tool-call.ts'
import { Absent, LazyNode, NOTHING, PENDING, type Pending, type Value } from '../value.ts'

/** How many misses are reported: a loop over a caller's names can make any number of them. */
const MAX_MISSES = 1000
/** How much of a missing path is reported, in UTF-16 units. */
const MAX_PATH_LENGTH = 500
/** What a miss costs, and what it costs to find out whether a call was made before. Both make a text to look up. */
const LOOK_UP_VISITS = 20

/** What entering a partial or a local template costs, beside its nodes. */
const ENTER_VISITS = 6
/** After so many visits the clock is looked at. */
const VISITS_PER_LOOK = 10_000

/** How many blocks may lie around one another, over all templates that call each other. */
const MAX_NESTED_BLOCKS = 1000

/** What a run works with. */
export interface RunOptions {
  readonly environs: EnvironSource
  /** Makes one call. Gives the tool's value, or what stands in for it. Throws only when the render must end. */
  readonly callTool: (call: ToolCall, signal: AbortSignal) => Promise<Value>
  /** The value of a call that was made for others and is still in memory. `undefined` when the call must be made. */
  recallTool? (call: ToolCall): Value | undefined
  /** The clock that templates see. @default the time at which one of them first looks */
  readonly now?: Date | undefined
  /** When the render must be over, on the clock of `performance.now()`, in ms. */
  readonly deadline: number
  /** The whole time that it was given, in ms, as its errors tell it. */
  readonly timeout: number
  /** Aborts at the deadline, or when nobody waits for the render any more. */
  readonly signal: AbortSignal
  readonly limits: Limits
  /** Whether values are missing whatever the passes use. Then the first pass that has everything else ends with that error. */
  readonly lacks?: boolean
  /** What templates that are compiled to be explained tell of themselves. */
  readonly trace?: Trace | undefined
}

/**
 * One render, over all its passes. What has been read and called stays as it was at first sight, so that every pass gives the
 * same answer. Templates call the run synchronously. A value that is not known yet is noted, and comes back as `PENDING`.
 */
export class Run {
  readonly limits: Limits
  readonly environs: EnvironSource
  readonly trace: Trace | undefined

  /** Set by an engine that printed or skipped over something pending. */
  unfinished = false
  /** Set by the Go engine when it has made a text in this pass that holds bytes which are no character. */
  holdsBytes = false
  /** Passes that have begun. */
  passes = 0
  /** Which text is being written; `undefined` for the only one. */
  text: TextName | undefined = undefined
  /**
   * Whose text is being written, if it is that of a partial. Code that replaces it also restores it, except after an error,
   * which ends the pass.
   */
  within: string | undefined = undefined

  #now: Date | undefined
  #notes: PassNotes | undefined
  #memory: RunMemory | undefined
  readonly #options: Pick<RunOptions, 'recallTool'> & Partial<Pick<RunOptions, 'timeout'>>
  readonly #deadline: number
  #visits = 0
  #environBytes = 0
  /** The number of visits at which the budget or the clock must be looked at. */
  #nextLook: number
  #depth = 0
  #blocks = 0

  /** Without a deadline, only the limits end a pass. */
  constructor (options: Pick<RunOptions, 'environs' | 'now' | 'limits' | 'trace' | 'recallTool'> & Partial<Pick<RunOptions, 'deadline' | 'timeout'>>) {
    this.environs = options.environs
    this.limits = options.limits
    this.trace = options.trace
    this.#now = options.now
    this.#options = options
    this.#deadline = options.deadline ?? Infinity
    this.#nextLook = Math.min(VISITS_PER_LOOK, this.limits.visits)
  }

  /** The pinned clock. */
  now (): Date {
    return (this.#now ??= new Date())
  }

  /** Tool calls that this pass has met and that are not answered yet, by key. */
  get notedCalls (): ReadonlyMap<string, ToolCall> {
    return this.#notes?.calls ?? NO_CALLS
  }

  /** Shared variables that this pass needs and that are not in memory, by name. */
  get notedEnvirons (): ReadonlySet<string> {
    return this.#notes?.environs ?? NO_ENVIRONS
  }

  /** Absent paths that this pass has consumed. */
  get misses (): readonly MissingPath[] {
    return this.#notes?.misses ?? NO_MISSES
  }

  /** Forgets what the last pass noted; what it learned stays. */
  beginPass (): void {
    this.passes++
    this.trace?.beginPass()
    this.#notes = undefined
    this.unfinished = false
    this.holdsBytes = false
    this.within = undefined
    this.#depth = 0
    this.#blocks = 0
  }

  /** Pays for work before it is done. @throws RENDER_BUDGET when the run has no more, RENDER_TIMEOUT */
  charge (visits: number): void {
    this.#visits += visits
    if (this.#visits > this.#nextLook) this.#look()
  }

  /** No timer can stop a synchronous pass, so a pass on a slow machine stops itself at the deadline. */
  #look (): void {
    const { visits } = this.limits
    if (this.#visits > visits) throw renderBudget('steps', visits)
    if (performance.now() > this.#deadline) throw renderTimeout(this.#options.timeout ?? Infinity)
    this.#nextLook = Math.min(this.#visits + VISITS_PER_LOOK, visits)
  }

  /** Called by an engine whenever its text may have grown beyond the limit. @throws RENDER_BUDGET */
  checkOutput (length: number): void {
    if (length > this.limits.output) throw renderBudget('characters of output', this.limits.output)
  }

  /**
   * Enters a partial or a local template. Every `enter` has its `leave` in a straight line without `finally`, since errors
   * end the pass.
   * @param blocks how many blocks of the calling template lie around the call. Together they are bounded, too, so that
   * partials with deep blocks cannot use up the stack.
   */
  enter (blocks = 0): void {
    this.charge(ENTER_VISITS)
    this.#blocks += blocks
    if (++this.#depth > this.limits.depth) throw renderEndless('partials within partials', this.limits.depth, this.textName())
    if (this.#blocks > MAX_NESTED_BLOCKS) throw renderEndless('blocks within blocks', MAX_NESTED_BLOCKS, this.textName())
  }

  leave (blocks = 0): void {
    this.#blocks -= blocks
    this.#depth--
  }

  #note (): PassNotes {
    return (this.#notes ??= new PassNotes())
  }

  #learned (): RunMemory {
    return (this.#memory ??= new RunMemory())
  }

  /** The value of a shared variable: `undefined` when it has gone, `PENDING` (and noted) when it must be fetched. */
  environ (name: string): Json | Pending | undefined {
    return this.environEntry(name, entry => entry.value)
  }

  /** The size of a shared variable in bytes, under the same rules as `environ`. */
  environBytes (name: string): number | Pending | undefined {
    return this.environEntry(name, entry => entry.bytes)
  }

  private environEntry<T> (name: string, pick: (entry: EnvironValue) => T): T | Pending | undefined {
    let entry = this.#learned().environs.get(name)
    if (entry === GONE) return undefined
    if (entry === undefined) {
      entry = this.environs.cached(name)
      if (entry === undefined) {
        this.#note().environs.add(name)
        return PENDING
      }
      this.#keepEnviron(name, entry)
    }
    return pick(entry)
  }

  /**
   * The answer to a question about the shared variables, worked out once. Later passes get the same answer, and a template
   * that asks in a loop does not pay for it with time. A question whose answer is `PENDING` is asked again.
   */
  pin<T> (question: string, answer: () => T | Pending): T | Pending {
    const { answers } = this.#learned()
    const known = answers.get(question)
    if (known !== undefined) return known as T
    const found = answer()
    if (found !== PENDING) answers.set(question, found)
    return found
  }

  /** Records that an absent value was consumed. The result of consuming it is pending for the rest of the pass. */
  miss (absent: Absent, at: Position): Pending {
    this.charge(LOOK_UP_VISITS)
    // A name may be a half of a character: one that Go has cut, or that the length cuts here.
    const path = (absent.path.length > MAX_PATH_LENGTH ? `${absent.path.slice(0, MAX_PATH_LENGTH)}…` : absent.path).toWellFormed()
    const text = this.textName()
    const key = `${path} ${text.messageIndex} ${text.part} ${text.member} ${text.in} ${at.line}:${at.column}`
    const { missed, misses } = this.#note()
    if (missed.has(key) || missed.size === MAX_MISSES) return PENDING
    missed.add(key)
    misses.push({ path, line: at.line, column: at.column, ...text })
    return PENDING
  }

  /** The text that is being written, or was when an error ended the pass. */
  textName (): TextName {
    return { ...this.text, ...(this.within === undefined ? {} : { in: this.within }) }
  }

  /** A value in full, for printing, comparing or passing on. Absent is a miss, and lazy is read. Any other value stays as it is. */
  consume (value: Value, at: Position): Exclude<Value, Absent | LazyNode> {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Absent) return this.miss(value, at)
    if (value instanceof LazyNode) return value.read()
    return value
  }

  /** A tool's value: `PENDING` (and noted) on the first pass that meets the call with all its arguments known and has no answer in memory. */
  call (tool: LinkedTool, positional: readonly Value[], named: Readonly<Record<string, Value>>, at: Position): Value {
    this.charge(LOOK_UP_VISITS)
    let pending = false
    const argument = (value: Value): Json => {
      const known = this.consume(value, at)
      if (known === PENDING) pending = true
      return known === PENDING || known === NOTHING ? null : known as Json
    }
    const values = positional.map(argument)
    const names: MutableObject = {}
    for (const name of Object.keys(named)) setMember(names, name, argument(named[name] as Value))
    if (pending) return PENDING
    const mapped = tool.mapArguments(values, names)
    const key = toolCallKey(tool.id, mapped)
    const known = this.#memory?.calls.get(key)
    if (known !== undefined) {
      this.trace?.readCall(key)
      return known
    }
    return this.notedCalls.has(key) ? PENDING : this.#meet({ tool, arguments: mapped, key })
  }

  /** The value of a call that this run meets for the first time, where it is in memory; else it is noted. */
  #meet (call: ToolCall): Value {
    if ((this.#memory?.calls.size ?? 0) + this.notedCalls.size >= this.limits.calls) throw renderBudget('tool calls', this.limits.calls)
    const recalled = this.#options.recallTool?.(call)
    if (recalled === undefined) {
      this.#note().calls.set(call.key, call)
      return PENDING
    }
    this.learnCall(call, recalled)
    this.trace?.readCall(call.key)
    return recalled
  }

  /**
   * Keeps what was fetched for a pass; a name that is not in `values` has gone, for this whole run.
   * @throws RENDER_BUDGET
   */
  learnEnvirons (names: Iterable<string>, values: ReadonlyMap<string, EnvironValue>): void {
    for (const name of names) this.#keepEnviron(name, values.get(name) ?? GONE)
  }

  #keepEnviron (name: string, entry: EnvironValue): void {
    this.#learned().environs.set(name, entry)
    this.#environBytes += entry.bytes
    if (this.#environBytes > this.limits.environs) throw renderBudget('bytes of shared variables', this.limits.environs)
  }

  /** Keeps a tool's value for all later passes; the call is answered. */
  learnCall (call: ToolCall, value: Value): void {
    this.#learned().calls.set(call.key, value)
    this.#notes?.calls.delete(call.key)
  }
}
