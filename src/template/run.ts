import { type MissingPath, renderBudget, renderEndless, renderTimeout, ServiceError, type TextName, variableMissing } from '../base/errors.ts'
import { type Json, type MutableObject, setMember } from '../base/json.ts'
import { inTurn } from '../runtime/event-loop.ts'
import { untilAborted } from '../runtime/deadline.ts'
import type { Trace } from './trace.ts'
import type { Position } from './tags.ts'
import { Absent, LazyNode, NOTHING, PENDING, type Pending, type Value } from './value.ts'
import { type LinkedTool, type ToolCall, toolCallKey } from './template-function.ts'

/** Bounds of one run of a prompt's templates (docs/templates.md, Bounds). */
export interface Limits {
  /** Over all passes: one for each node, and each element or 64 UTF-16 units that functions process. */
  readonly visits: number
  /** UTF-16 units. */
  readonly output: number
  /** Levels of partials within partials, and templates within templates. */
  readonly depth: number
  /** Different tool calls. */
  readonly calls: number
  /** In bytes of stored text, of all shared variables that the run looks at together. */
  readonly environs: number
}

export const DEFAULT_LIMITS: Limits = { visits: 500_000, output: 1024 * 1024, depth: 100, calls: 100, environs: 8 * 1024 * 1024 }

// Made only when needed: seven empty collections take as long as a short prompt, and most renders need none.

class PassNotes {
  readonly calls = new Map<string, ToolCall>()
  readonly environs = new Set<string>()
  readonly misses: MissingPath[] = []
  /** Each is reported once. */
  readonly missed = new Set<string>()
}

class RunMemory {
  readonly calls = new Map<string, Value>()
  readonly environs = new Map<string, EnvironValue>()
  readonly answers = new Map<unknown, unknown>()
}

/** The entry for a shared variable that no longer exists. */
const GONE: EnvironValue = { value: null, bytes: 0 }

const NO_CALLS: ReadonlyMap<string, ToolCall> = new Map()
const NO_ENVIRONS: ReadonlySet<string> = new Set()
const NO_MISSES: readonly MissingPath[] = []

/** A bound, since a loop over names from the caller can make any number of them. */
const MAX_MISSES = 1000
/** In UTF-16 units. */
const MAX_PATH_LENGTH = 500
/** In visits: noting a missing value, and finding an earlier tool call, both build and look up a text. */
const LOOK_UP_WORK = 20

/** In visits, beside the cost of the nodes. */
const ENTER_WORK = 6
/** Visits after which the clock is read. */
const WORK_PER_READ = 10_000

/** Counted over all templates that call each other. */
const MAX_NESTED_BLOCKS = 1000

export interface RunOptions {
  readonly environs: EnvironSource
  /** Throws only when the render must end. */
  readonly callTool: (call: ToolCall, signal: AbortSignal) => Promise<Value>
  /** A result from another render that is still in memory; `undefined` when the call must be made. */
  recallTool? (call: ToolCall): Value | undefined
  /** The time that templates see as the present. @default the time at which a template first asks for it */
  readonly now?: Date | undefined
  /** On the clock of `performance.now()`, in ms. */
  readonly deadline: number
  /** In ms, for error messages. */
  readonly timeout: number
  readonly signal: AbortSignal
  readonly limits: Limits
  /** Values are known to be missing: the first pass that needs no further shared variable ends with that error. */
  readonly lacks?: boolean
  readonly trace?: Trace | undefined
}

/** One render over all its passes. Values keep what they were first, so that every pass sees the same; unknown ones are noted and `PENDING`. */
export class RenderRun {
  readonly limits: Limits
  readonly environs: EnvironSource
  readonly trace: Trace | undefined

  /** A language has printed or skipped something that depends on an unknown value. */
  unfinished = false
  /** Go has made a text in this pass with bytes that are no valid UTF-8. */
  holdsBytes = false
  passes = 0
  text: TextName | undefined = undefined
  /** The partial being written. Code that sets it must restore the one before, except after an error, which ends the pass. */
  within: string | undefined = undefined

  #now: Date | undefined
  #notes: PassNotes | undefined
  #memory: RunMemory | undefined
  readonly #options: Pick<RunOptions, 'recallTool'> & Partial<Pick<RunOptions, 'timeout'>>
  readonly #deadline: number
  #visits = 0
  #environBytes = 0
  #nextLook: number
  #depth = 0
  #blocks = 0

  constructor (options: Pick<RunOptions, 'environs' | 'now' | 'limits' | 'trace' | 'recallTool'> & Partial<Pick<RunOptions, 'deadline' | 'timeout'>>) {
    this.environs = options.environs
    this.limits = options.limits
    this.trace = options.trace
    this.#now = options.now
    this.#options = options
    this.#deadline = options.deadline ?? Infinity
    this.#nextLook = Math.min(WORK_PER_READ, this.limits.visits)
  }

  now (): Date {
    return (this.#now ??= new Date())
  }

  get notedCalls (): ReadonlyMap<string, ToolCall> {
    return this.#notes?.calls ?? NO_CALLS
  }

  get notedEnvirons (): ReadonlySet<string> {
    return this.#notes?.environs ?? NO_ENVIRONS
  }

  get misses (): readonly MissingPath[] {
    return this.#notes?.misses ?? NO_MISSES
  }

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

  /** Called before the work is done. @throws RENDER_BUDGET when the limit is exceeded, RENDER_TIMEOUT */
  charge (visits: number): void {
    this.#visits += visits
    if (this.#visits > this.#nextLook) this.#look()
  }

  /** No timer can stop a synchronous pass, so it ends itself at the deadline. */
  #look (): void {
    const { visits } = this.limits
    if (this.#visits > visits) throw renderBudget('steps', visits)
    if (performance.now() > this.#deadline) throw renderTimeout(this.#options.timeout ?? Infinity)
    this.#nextLook = Math.min(this.#visits + WORK_PER_READ, visits)
  }

  /** Languages call this whenever the text may exceed the limit. @throws RENDER_BUDGET */
  checkOutput (length: number): void {
    if (length > this.limits.output) throw renderBudget('characters of output', this.limits.output)
  }

  /** `leave` needs no `finally`: an error ends the pass. `blocks` count over all templates, so that deep partials cannot overflow the stack. */
  enter (blocks = 0): void {
    this.charge(ENTER_WORK)
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

  /** `undefined` when it no longer exists, `PENDING` (and noted) when it must be fetched. */
  environ (name: string): Json | Pending | undefined {
    return this.environEntry(name, entry => entry.value)
  }

  /** In bytes; `undefined` and `PENDING` as for `environ`. */
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

  /** Answers once for the whole run, so that all passes agree and loops cost nothing; `PENDING` is not kept. */
  pin<T> (question: unknown, answer: () => T | Pending): T | Pending {
    const { answers } = this.#learned()
    const known = answers.get(question)
    if (known !== undefined) return known as T
    const found = answer()
    if (found !== PENDING) answers.set(question, found)
    return found
  }

  /** The render ends with an error after the pass; `PENDING` stands in until then. */
  miss (absent: Absent, at: Position): Pending {
    this.charge(LOOK_UP_WORK)
    // A path can end in half a character: Go cut a name there, or the path was cut here.
    const path = (absent.path.length > MAX_PATH_LENGTH ? `${absent.path.slice(0, MAX_PATH_LENGTH)}…` : absent.path).toWellFormed()
    const text = this.textName()
    const key = `${path} ${text.messageIndex} ${text.part} ${text.member} ${text.in} ${at.line}:${at.column}`
    const { missed, misses } = this.#note()
    if (missed.has(key) || missed.size === MAX_MISSES) return PENDING
    missed.add(key)
    misses.push({ path, line: at.line, column: at.column, ...text })
    return PENDING
  }

  /** The name of the text that is being written, or that was written when an error ended the pass. */
  textName (): TextName {
    return { ...this.text, ...(this.within === undefined ? {} : { in: this.within }) }
  }

  /** An absent value is noted as missing, and a lazy one is read. */
  consume (value: Value, at: Position): Exclude<Value, Absent | LazyNode> {
    if (typeof value !== 'object' || value === null) return value
    if (value instanceof Absent) return this.miss(value, at)
    if (value instanceof LazyNode) return value.read()
    return value
  }

  /**
   * The result of a tool call; `PENDING` when an argument is not known yet, or when the call has no result in memory. In the second case the call is
   * noted.
   */
  call (tool: LinkedTool, positional: readonly Value[], named: Readonly<Record<string, Value>>, at: Position): Value {
    this.charge(LOOK_UP_WORK)
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

  /** A name that `values` lacks is gone for this whole run. @throws RENDER_BUDGET */
  learnEnvirons (names: Iterable<string>, values: ReadonlyMap<string, EnvironValue>): void {
    for (const name of names) this.#keepEnviron(name, values.get(name) ?? GONE)
  }

  #keepEnviron (name: string, entry: EnvironValue): void {
    this.#learned().environs.set(name, entry)
    this.#environBytes += entry.bytes
    if (this.#environBytes > this.limits.environs) throw renderBudget('bytes of shared variables', this.limits.environs)
  }

  learnCall (call: ToolCall, value: Value): void {
    this.#learned().calls.set(call.key, value)
    this.#notes?.calls.delete(call.key)
  }
}

/** `bytes` is the size in the store. */
export interface EnvironValue { readonly value: Json, readonly bytes: number }

/** Shared variables (environs) as a run reads them. Names are dotted paths; no segment has a dot. */
export interface EnvironSource {
  has (name: string): boolean
  hasBelow (name: string): boolean
  /** Whether this caller may not see variables of the module; left out where nothing is hidden. */
  hides? (name: string): boolean
  /** Sorted; `undefined` when there are more than `limit`. */
  namesBelow (name: string, limit: number): readonly string[] | undefined
  /** The segments right after `name.`, sorted; all first segments for `''`. */
  segmentsBelow (name: string): readonly string[]
  /** `undefined` when it must be fetched. */
  cached (name: string): EnvironValue | undefined
  /** One round trip. A name that no longer exists is left out. Throws STORE_UNAVAILABLE. */
  fetch (names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, EnvironValue>>
}

/** A bound: each can have 1 MiB, and a loop over a branch needs all variables in it. */
const FETCHED_AT_A_TIME = 100

/** Repeats passes until one needs nothing more. @throws VARIABLE_MISSING with all of a pass, RENDER_TIMEOUT, RENDER_BUDGET, or its error */
export async function renderToFixpoint<T> (run: RenderRun, id: string, pass: () => T, options: RunOptions): Promise<T> {
  const expired = () => renderTimeout(options.timeout)
  for (;;) {
    const turn = inTurn(() => {
      if (performance.now() > options.deadline) throw expired()
      return runPass(run, pass)
    })
    const result = turn instanceof Promise ? await turn : turn
    if (run.notedEnvirons.size > 0) {
      await fetchEnvirons(run, options, expired)
      continue
    }
    if (run.misses.length > 0 || options.lacks === true) throw variableMissing(id, run.misses)
    if ('error' in result) throw result.error
    if (run.notedCalls.size > 0) {
      await inTime(makeCalls(run, options), options.signal, expired)
      continue
    }
    if (run.unfinished) throw new Error(`prompt ${id}: a pass left something pending and noted nothing`)
    return result.output
  }
}

/** Exceeded limits throw at once; other errors wait, as missing values, known only after the pass, explain them better. */
function runPass<T> (run: RenderRun, pass: () => T): { output: T } | { error: unknown } {
  run.beginPass()
  const started = run.trace === undefined ? 0 : performance.now()
  try {
    return { output: pass() }
  } catch (error) {
    if (error instanceof ServiceError) throw error
    return { error }
  } finally {
    run.trace?.endPass(performance.now() - started)
  }
}

async function fetchEnvirons (run: RenderRun, { environs, signal }: RunOptions, expired: () => Error): Promise<void> {
  const noted = [...run.notedEnvirons]
  for (let start = 0; start < noted.length; start += FETCHED_AT_A_TIME) {
    const names = noted.slice(start, start + FETCHED_AT_A_TIME)
    run.learnEnvirons(names, await inTime(environs.fetch(names, signal), signal, expired))
  }
}

async function makeCalls (run: RenderRun, options: RunOptions): Promise<void> {
  await Promise.all(Array.from(run.notedCalls.values(), async call => {
    // Each call begins in its own turn: even checking arguments can take long, and there can be a hundred calls.
    const value = await inTurn(() => {
      if (performance.now() > options.deadline) throw renderTimeout(options.timeout)
      return options.callTool(call, options.signal)
    })
    run.learnCall(call, value)
  }))
}

/** A tool that ignores the signal must not delay a render. */
async function inTime<T> (work: Promise<T>, signal: AbortSignal, expired: () => Error): Promise<T> {
  try {
    return await untilAborted(signal, work)
  } catch (error) {
    throw signal.aborted ? expired() : error
  }
}
