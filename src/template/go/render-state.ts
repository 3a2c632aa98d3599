import type { JsonObject } from '../../base/json.ts'
import { type EnteredPartial, type Frame, type Link, refuseRoot } from '../language.ts'
import { NOWHERE, type Provenance, type Writer } from '../provenance.ts'
import type { Run } from '../run.ts'
import { ScopeRoot, TracedRoot } from '../scope.ts'
import type { Position } from '../tags.ts'
import type { Trace } from '../trace.ts'
import { Absent, LazyNode, PENDING, type Value } from '../value.ts'
import type { BuiltinContext } from './builtins.ts'
import { hasLoneSurrogate, toUnicode } from './bytes.ts'
import { type GoValue, toPlain } from './go-value.ts'
import { Printer } from './printer.ts'

// Go strings can have bytes that are no valid UTF-8. Only `slice` and literals make such texts, and note that in the run (`holdsBytes`). A run without
// such a text need not look for bytes in any text, and so never takes a text that a caller has sent for bytes.

/** Returns a value unchanged, and tells the run if it is a text with bytes that are no valid UTF-8. */
export function noteBytes ({ run }: Machine, value: GoValue): GoValue {
  if (typeof value === 'string' && hasLoneSurrogate(value)) run.holdsBytes = true
  return value
}

/**
 * Gives a value in the form that functions, tools and templates of the other language expect: bytes in a text become Unicode. Lists and objects are
 * data, and have no such bytes.
 */
export function toShared ({ run }: Machine, value: GoValue): Value {
  return run.holdsBytes && typeof value === 'string' ? toUnicode(value) : toPlain(value)
}

/** Gives all arguments of a call in the form that functions, tools and templates of the other language expect. */
export function allShared (machine: Machine, values: readonly GoValue[]): Value[] {
  return machine.run.holdsBytes ? values.map(value => toShared(machine, value)) : values.map(toPlain)
}

/** Settles a value that is about to be printed or compared: an absent one is noted as missing and becomes `PENDING`, a `LazyNode` is read. */
export function settle (machine: Machine, value: GoValue, at: Position): GoValue {
  if (value instanceof LazyNode) refuseRoot(value, 'go', at)
  return settleWhole(machine, value, at)
}

/** Settles an argument of a function such as `json`, or of a tool: these may be given the root, too. */
export function settleWhole (machine: Machine, value: GoValue, at: Position): GoValue {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Absent) return machine.run.miss(value, at)
  return value instanceof LazyNode ? value.read() : value
}

/** Makes variables pending that skipped code could have assigned. Code is skipped when it is not known yet whether it runs. */
export function skip (machine: Machine, slots: readonly number[]): void {
  machine.run.unfinished = true
  for (let index = 0; index < slots.length; index++) machine.variables[slots[index] as number] = PENDING
}

/** Joins lists of variable slots into one, with each slot once. */
export function unionOf (assigns: readonly (readonly number[])[]): readonly number[] {
  return [...new Set(assigns.flat())]
}

/**
 * The effects of a statement on the loop around it, as bits that can be combined. `Continue` and `Break` are jumps that happen. The other two are jumps
 * that skipped code might have made. Code is skipped when its condition is not known yet.
 */
export const Jump = {
  None: 0,
  Continue: 1,
  Break: 2,
  MaybeContinue: 4,
  MaybeBreak: 8
} as const

/** The bits of the jumps that really happen, unlike `MaybeContinue` and `MaybeBreak`. */
export const REAL_JUMPS = Jump.Continue | Jump.Break

/** Turns the bits of jumps that happen into the bits of the same jumps that skipped code might have made. */
export function maybe (jumps: number): number {
  return (jumps & REAL_JUMPS) << 2
}

/** The state of one template in Go's language while the template runs. For a partial it is used again when the partial runs again in the same render. */
export class Machine {
  readonly run: Run
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  /** The caller's variables as plain data, taken from the scope root; `undefined` when the root is of another class than `ScopeRoot`. */
  readonly variablesOfRoot: JsonObject | undefined
  readonly outputLimit: number
  /**
   * The variables of the body that runs, by slot; slot 0 is `$`. A variable is `undefined` until the code that declares it has run. An `and` can skip
   * that code.
   */
  variables: Array<GoValue | undefined>
  /** The jump that the statement which ran last has made. The lists and loops around the statement look at it. */
  jump: number = Jump.None
  /**
   * For each `and` and `or`, by the number that the compiler gave it: the index of the operand that decided its last run. Messages name that operand's
   * place.
   */
  decided: number[] | undefined = undefined
  /** The partials that the template has already run, by their index in `links`. */
  partials: Array<EnteredPartial | undefined> | undefined
  /** Where the machine's values come from, when the render is explained. */
  traced: TracedMachine | undefined = undefined
  #builtins: BuiltinContext | undefined

  constructor (run: Run, { links, root, partials }: Frame, variables: Array<GoValue | undefined>) {
    this.run = run
    this.links = links
    this.root = root
    this.variablesOfRoot = root instanceof ScopeRoot ? root.variables() : undefined
    this.partials = partials
    this.variables = variables
    this.outputLimit = run.limits.output
  }

  /** What the built-in functions can use of the run. */
  get builtins (): BuiltinContext {
    if (this.#builtins === undefined) {
      const { run } = this
      const charge = (visits: number): void => run.charge(visits)
      this.#builtins = { printer: new Printer(charge), charge, now: () => run.now() }
    }
    return this.#builtins
  }
}

/** Tells where a machine's values come from. It is set in every template that is compiled to be explained. */
export function tracedOf ({ traced }: Machine): TracedMachine {
  return traced as TracedMachine
}

/** The provenance of the dot and of the variables of the body that runs now, in a render that is explained. */
export class TracedMachine {
  readonly trace: Trace
  /** The provenance of the caller's variables as a whole. */
  readonly ofVariables: Provenance
  /** The id of the prompt whose template runs, if that prompt runs as a partial. */
  partial: string | undefined
  dot = NOWHERE
  /** The provenance of `$`. */
  argument = NOWHERE
  /** The provenance of each variable, by slot as in `Machine.variables`. As long as `$` is not assigned, `argument` has the provenance of `$`. */
  slots: Provenance[] | undefined = undefined
  /** The provenance of the value that the present statement looks at. */
  from = NOWHERE
  /** The value that the innermost running `range` loops over; `ofList` is the provenance of that value. */
  list: GoValue = null
  ofList = NOWHERE

  constructor (trace: Trace, root: LazyNode) {
    this.trace = trace
    this.ofVariables = root instanceof TracedRoot ? root.ofVariables() : NOWHERE
  }

  /** Begins a template: takes the provenance of its argument from the trace. @param partial the id of the prompt whose template it is, if that is a partial */
  begin (partial: string | undefined): void {
    this.partial = partial
    this.argument = this.trace.takeArgument()
    this.dot = this.argument
    this.slots = undefined
  }

  /** The provenance of the value with which a path begins. @param slot the slot of the variable; -1 for the dot */
  provenanceOf (slot: number): Provenance {
    if (slot < 0) return this.dot
    return this.slots?.[slot] ?? (slot === 0 ? this.argument : NOWHERE)
  }

  /** Reports a piece of the template's text as output. @throws RENDER_BUDGET */
  writeText (text: string, writer: Writer): void {
    this.trace.writeLiteral(text, writer, this.partial)
  }

  assign (slot: number, provenance: Provenance): void {
    this.slots ??= []
    this.slots[slot] = provenance
  }
}
