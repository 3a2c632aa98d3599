import { type MissingPath, renderBudget, renderEndless, renderTimeout, ServiceError, type TextName, variableMissing } from '../base/errors.ts'
import { type Json, type MutableObject, setMember } from '../base/json.ts'
import { inTurn } from '../runtime/event-loop.ts'
import { untilAborted } from '../runtime/deadline.ts'
import type { Trace } from './trace.ts'
import type { Position } from './tags.ts'
import { Absent, LazyNode, NOTHING, PENDING, type Pending, type Value } from './value.ts'
import { type LinkedTool, type ToolCall, toolCallKey } from './template-function.ts'

/** The limits of one run of a prompt's templates (docs/templates.md, Bounds). */
export interface Limits {
  /**
   * The most visits (a visit is the unit of work) over all passes: one for each node of a template, and for each element or 64 UTF-16 units of text that
   * functions process.
   */
  readonly visits: number
  /** The length of the longest text that a run is allowed to make, in UTF-16 units. */
  readonly output: number
  /** The most levels of partials within partials, and of templates within templates, that are allowed. */
  readonly depth: number
  /** The most different tool calls that one run is allowed to make. */
  readonly calls: number
  /** The greatest allowed size of all shared variables that the run looks at, added together, in bytes of stored text. */
  readonly environs: number
}

/** The limits of every render. */
export const DEFAULT_LIMITS: Limits = { visits: 500_000, output: 1024 * 1024, depth: 100, calls: 100, environs: 8 * 1024 * 1024 }

// The classes below hold what a run keeps. A run makes them only when there is something to keep: making seven empty collections takes as long as
// rendering a short prompt, and most renders need none.

/** The values that one pass over the templates needs and does not know yet, and those that are missing. */
class PassNotes {
  readonly calls = new Map<string, ToolCall>()
  readonly environs = new Set<string>()
  readonly misses: MissingPath[] = []
  /** The paths and places of the missing values, because each is reported once. */
  readonly missed = new Set<string>()
}

/** The results of tools and the shared variables that a run has learned in all its passes. */
class RunMemory {
  /** The results of tool calls, by the key of the call. */
  readonly calls = new Map<string, Value>()
  /** The shared variables by name; `GONE` for one that no longer exists. */
  readonly environs = new Map<string, EnvironValue>()
  readonly answers = new Map<string, unknown>()
}

/** The entry for a shared variable that no longer exists. */
const GONE: EnvironValue = { value: null, bytes: 0 }

/** The tool calls of a pass that has noted none. */
const NO_CALLS: ReadonlyMap<string, ToolCall> = new Map()
const NO_ENVIRONS: ReadonlySet<string> = new Set()
const NO_MISSES: readonly MissingPath[] = []

/** The most missing values that one render reports. A loop over names from the caller can make any number of them. */
const MAX_MISSES = 1000
/** The longest part of a missing value's path that is reported, in UTF-16 units. */
const MAX_PATH_LENGTH = 500
/**
 * The cost, in visits (units of a render's work), of noting a missing value, and of finding out whether a tool call was made before. For both, a text is
 * built and looked up.
 */
const LOOK_UP_VISITS = 20

/** The cost of beginning to run a partial or a `{{define}}` body, in visits (units of a render's work), in addition to the cost of its nodes. */
const ENTER_VISITS = 6
/** The number of visits (units of work) after which the clock is read, to see whether the render's time is over. */
const VISITS_PER_LOOK = 10_000

/** The most levels of nested blocks, counted over all templates that call each other. */
const MAX_NESTED_BLOCKS = 1000

/** The options of a run, which is one render of a prompt. */
export interface RunOptions {
  readonly environs: EnvironSource
  /** Makes one tool call, and gives its result or what replaces it. Throws only when the render must end. */
  readonly callTool: (call: ToolCall, signal: AbortSignal) => Promise<Value>
  /** The result of a tool call that was made for another render and is still in memory; `undefined` when the call must be made. */
  recallTool? (call: ToolCall): Value | undefined
  /** The time that templates see as the present. @default the time at which a template first asks for it */
  readonly now?: Date | undefined
  /** The time at which the render must be done, on the clock of `performance.now()`, in ms. */
  readonly deadline: number
  /** The time that the render was given in all, in ms, for error messages. */
  readonly timeout: number
  /** The signal that aborts at the deadline, or when nobody waits for the render any more. */
  readonly signal: AbortSignal
  readonly limits: Limits
  /**
   * Whether it is already known that values are missing, whatever the templates read. Then the first pass that needs no further shared variable ends
   * with the error of missing values.
   */
  readonly lacks?: boolean
  /** The trace to which templates report that are compiled to be explained. */
  readonly trace?: Trace | undefined
}

/**
 * One render of a prompt, over all its passes (a pass runs all templates once). A variable that was read and a tool that was called keep their first
 * value, so that every pass sees the same. Templates call the run synchronously: a value that is not known yet is noted, and `PENDING` is given in its
 * place.
 */
export class Run {
  readonly limits: Limits
  readonly environs: EnvironSource
  readonly trace: Trace | undefined

  /** Set by a template language when it has printed or skipped something that depends on a value which is not known yet. */
  unfinished = false
  /** Set by the Go language when it has made a text in this pass with bytes that are no valid UTF-8. */
  holdsBytes = false
  /** The number of passes that have begun. */
  passes = 0
  /** The name of the prompt's text that is being written; `undefined` when the prompt has only one text. */
  text: TextName | undefined = undefined
  /**
   * The id of the partial whose text is being written; `undefined` while the prompt's own text is written. Code that sets this id must restore the
   * one before, except after an error, which ends the pass.
   */
  within: string | undefined = undefined

  #now: Date | undefined
  #notes: PassNotes | undefined
  #memory: RunMemory | undefined
  readonly #options: Pick<RunOptions, 'recallTool'> & Partial<Pick<RunOptions, 'timeout'>>
  readonly #deadline: number
  #visits = 0
  #environBytes = 0
  /** The count of visits (units of work) at which their limit and the clock are checked next. */
  #nextLook: number
  #depth = 0
  #blocks = 0

  /** Makes a run. Without a deadline, only the limits end a pass. */
  constructor (options: Pick<RunOptions, 'environs' | 'now' | 'limits' | 'trace' | 'recallTool'> & Partial<Pick<RunOptions, 'deadline' | 'timeout'>>) {
    this.environs = options.environs
    this.limits = options.limits
    this.trace = options.trace
    this.#now = options.now
    this.#options = options
    this.#deadline = options.deadline ?? Infinity
    this.#nextLook = Math.min(VISITS_PER_LOOK, this.limits.visits)
  }

  /** The time of the run, which stays the same throughout. */
  now (): Date {
    return (this.#now ??= new Date())
  }

  /** The tool calls that templates have made in this pass and that have no result yet, by key. */
  get notedCalls (): ReadonlyMap<string, ToolCall> {
    return this.#notes?.calls ?? NO_CALLS
  }

  /** The names of the shared variables that this pass needs and that are not in memory. */
  get notedEnvirons (): ReadonlySet<string> {
    return this.#notes?.environs ?? NO_ENVIRONS
  }

  /** The missing values that this pass has used. */
  get misses (): readonly MissingPath[] {
    return this.#notes?.misses ?? NO_MISSES
  }

  /** Begins a pass: forgets what the pass before it has noted, and keeps what the run has learned (values and results of tools). */
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

  /**
   * Counts work, in visits (see `Limits.visits`), against the limit, before the work is done.
   * @throws RENDER_BUDGET when the limit is exceeded, RENDER_TIMEOUT
   */
  charge (visits: number): void {
    this.#visits += visits
    if (this.#visits > this.#nextLook) this.#look()
  }

  /** Checks the limit of the render's work, and the clock. No timer can stop a synchronous pass, so a pass on a slow machine ends itself at the deadline. */
  #look (): void {
    const { visits } = this.limits
    if (this.#visits > visits) throw renderBudget('steps', visits)
    if (performance.now() > this.#deadline) throw renderTimeout(this.#options.timeout ?? Infinity)
    this.#nextLook = Math.min(this.#visits + VISITS_PER_LOOK, visits)
  }

  /** Checks the length of the output. A template language calls this whenever its text has perhaps grown beyond the limit. @throws RENDER_BUDGET */
  checkOutput (length: number): void {
    if (length > this.limits.output) throw renderBudget('characters of output', this.limits.output)
  }

  /**
   * Called before a partial or a `{{define}}` body runs: counts how deep templates nest. Each `enter` is followed by a `leave` without `finally`, because
   * an error ends the pass anyway.
   * @param blocks how many blocks of the calling template lie around the call. They are counted over all templates, so that partials with deep blocks
   * cannot overflow the stack.
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

  /** The value of a shared variable: `undefined` when it no longer exists, `PENDING` (and noted) when it must be fetched. */
  environ (name: string): Json | Pending | undefined {
    return this.environEntry(name, entry => entry.value)
  }

  /** The size of a shared variable, in bytes. `undefined` and `PENDING` mean the same as for `environ`. */
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
   * Finds out something about the shared variables, once for the whole run. Later passes get the same answer, and a template that asks in a loop
   * takes no further time. If the answer is `PENDING`, it is not kept.
   * @param question a text by which the answer is found again
   */
  pin<T> (question: string, answer: () => T | Pending): T | Pending {
    const { answers } = this.#learned()
    const known = answers.get(question)
    if (known !== undefined) return known as T
    const found = answer()
    if (found !== PENDING) answers.set(question, found)
    return found
  }

  /**
   * Notes that a template has used an absent value, for which the render ends with an error after the pass.
   * @returns `PENDING`, the value for the rest of the pass
   */
  miss (absent: Absent, at: Position): Pending {
    this.charge(LOOK_UP_VISITS)
    // A path can end in half of a character: perhaps Go has cut a name there, or the path was cut here because it is too long.
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

  /** The value in full, for printing, comparing or passing on. An absent value is noted as missing, and a lazy one is read; any other value stays as it is. */
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

  /** The result of a tool call that this run meets for the first time, if the result is in memory; otherwise the call is noted. */
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

  /** Keeps the shared variables that were fetched after a pass. A name that `values` lacks no longer exists, for this whole run. @throws RENDER_BUDGET */
  learnEnvirons (names: Iterable<string>, values: ReadonlyMap<string, EnvironValue>): void {
    for (const name of names) this.#keepEnviron(name, values.get(name) ?? GONE)
  }

  #keepEnviron (name: string, entry: EnvironValue): void {
    this.#learned().environs.set(name, entry)
    this.#environBytes += entry.bytes
    if (this.#environBytes > this.limits.environs) throw renderBudget('bytes of shared variables', this.limits.environs)
  }

  /** Keeps the result of a tool call for all later passes. */
  learnCall (call: ToolCall, value: Value): void {
    this.#learned().calls.set(call.key, value)
    this.#notes?.calls.delete(call.key)
  }
}

/** The value of a shared variable, with its size in the store, in bytes. */
export interface EnvironValue { readonly value: Json, readonly bytes: number }

/**
 * The shared variables (environs: JSON values that programs publish for all prompts) as a run reads them. Their names are dotted paths, such as
 * `vscode.rules`; no segment has a dot.
 */
export interface EnvironSource {
  /** Whether a shared variable of exactly that name exists. */
  has (name: string): boolean
  /** Whether shared variables exist below a name (`name.…`). */
  hasBelow (name: string): boolean
  /** Whether shared variables of a module (a first segment) exist that this caller is not allowed to see; left out where nothing is hidden from anybody. */
  hides? (name: string): boolean
  /** The names of all shared variables below a name, sorted; `undefined` when there are more than `limit`. */
  namesBelow (name: string, limit: number): readonly string[] | undefined
  /** The segments that directly follow `name.` (all first segments for `''`), sorted. */
  segmentsBelow (name: string): readonly string[]
  /** The value of a shared variable if it is in memory and fresh; `undefined` when it must be fetched. */
  cached (name: string): EnvironValue | undefined
  /** Fetches values in one round trip. A name that no longer exists is left out of the result. Throws STORE_UNAVAILABLE. */
  fetch (names: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, EnvironValue>>
}

/**
 * The most shared variables that are fetched at a time. Each can have 1 MiB, and a loop over a branch (a group of shared variables) needs all variables
 * in it.
 */
const FETCHED_AT_A_TIME = 100

/**
 * Renders a prompt in passes, until a pass needs nothing more. A pass runs all templates, and notes the shared variables and tool calls that it needs
 * and that the run does not know yet. Then the variables are fetched and the calls made, and the next pass runs. The output of the pass that notes
 * nothing is the result.
 * @param id the prompt's id, for errors
 * @throws VARIABLE_MISSING with all missing values of a pass, RENDER_TIMEOUT, RENDER_BUDGET, or the pass's own error
 */
export async function renderToFixpoint<T> (run: Run, id: string, pass: () => T, options: RunOptions): Promise<T> {
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

/**
 * Runs one pass. When a limit of the render is exceeded, the render ends at once. Any other error is returned, because missing values, which are
 * known only after the pass, explain it better.
 */
function runPass<T> (run: Run, pass: () => T): { output: T } | { error: unknown } {
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

async function fetchEnvirons (run: Run, { environs, signal }: RunOptions, expired: () => Error): Promise<void> {
  const noted = [...run.notedEnvirons]
  for (let start = 0; start < noted.length; start += FETCHED_AT_A_TIME) {
    const names = noted.slice(start, start + FETCHED_AT_A_TIME)
    run.learnEnvirons(names, await inTime(environs.fetch(names, signal), signal, expired))
  }
}

async function makeCalls (run: Run, options: RunOptions): Promise<void> {
  await Promise.all(Array.from(run.notedCalls.values(), async call => {
    // Even the beginning of a call, such as checking its arguments, can take long, and there can be a hundred calls: so each begins in its turn of
    // the event loop.
    const value = await inTurn(() => {
      if (performance.now() > options.deadline) throw renderTimeout(options.timeout)
      return options.callTool(call, options.signal)
    })
    run.learnCall(call, value)
  }))
}

/** Waits for `work`, but no longer than until the signal aborts, so that a tool which ignores the signal cannot delay a render. */
async function inTime<T> (work: Promise<T>, signal: AbortSignal, expired: () => Error): Promise<T> {
  try {
    return await untilAborted(signal, work)
  } catch (error) {
    throw signal.aborted ? expired() : error
  }
}
