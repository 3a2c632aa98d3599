import type { JsonObject } from '../../base/json.ts'
import { type EnteredPartial, type RunFrame, type Link, refuseRoot } from '../language.ts'
import { NOWHERE, type Provenance } from '../provenance.ts'
import type { RenderRun } from '../run.ts'
import { ScopeRoot } from '../scope.ts'
import type { Position } from '../tags.ts'
import type { Trace } from '../trace.ts'
import { Absent, LazyNode, PENDING, type Value } from '../value.ts'
import type { BuiltinContext } from './builtins.ts'
import { hasLoneSurrogate, toUnicode } from './bytes.ts'
import { type GoValue, toPlain } from './go-value.ts'
import { Printer } from './printer.ts'

// Only `slice` and literals make texts with invalid UTF-8, and note it in the run: a caller's text is never taken for bytes.

export function noteBytes ({ run }: RenderState, value: GoValue): GoValue {
  if (typeof value === 'string' && hasLoneSurrogate(value)) run.holdsBytes = true
  return value
}

/** Bytes in a text become Unicode. Lists and objects are data, and have no such bytes. */
export function toShared ({ run }: RenderState, value: GoValue): Value {
  return run.holdsBytes && typeof value === 'string' ? toUnicode(value) : toPlain(value)
}

export function allShared (state: RenderState, values: readonly GoValue[]): Value[] {
  return state.run.holdsBytes ? values.map(value => toShared(state, value)) : values.map(toPlain)
}

/** An absent value is noted as missing and becomes `PENDING`, a `LazyNode` is read. */
export function resolveValue (state: RenderState, value: GoValue, at: Position): GoValue {
  if (value instanceof LazyNode) refuseRoot(value, 'go', at)
  return resolveWhole(state, value, at)
}

/** Functions such as `json`, and tools, may be given the root, too. */
export function resolveWhole (state: RenderState, value: GoValue, at: Position): GoValue {
  if (typeof value !== 'object' || value === null) return value
  if (value instanceof Absent) return state.run.miss(value, at)
  return value instanceof LazyNode ? value.read() : value
}

/** Code is skipped when it is not known yet whether it runs: what it could assign is pending. */
export function skip (state: RenderState, slots: readonly number[]): void {
  state.run.unfinished = true
  for (let index = 0; index < slots.length; index++) state.variables[slots[index] as number] = PENDING
}

export function unionOf (assigns: readonly (readonly number[])[]): readonly number[] {
  return [...new Set(assigns.flat())]
}

/** Bits that combine. The `Maybe` ones are jumps that skipped code, of unknown condition, might have made. */
export const Jump = {
  None: 0,
  Continue: 1,
  Break: 2,
  MaybeContinue: 4,
  MaybeBreak: 8
} as const

export const REAL_JUMPS = Jump.Continue | Jump.Break

export function maybe (jumps: number): number {
  return (jumps & REAL_JUMPS) << 2
}

/** One template while it runs; reused when a partial runs again in the same render. */
export class RenderState {
  readonly run: RenderRun
  readonly links: readonly (Link | undefined)[]
  readonly root: LazyNode
  readonly variablesOfRoot: JsonObject | undefined
  readonly outputLimit: number
  /** By slot; 0 is `$`. `undefined` until declared: an `and` can skip that code. */
  variables: Array<GoValue | undefined>
  jump: number = Jump.None
  /** Per `and` and `or`, the operand that decided its last run: messages name its place. */
  decided: number[] | undefined = undefined
  partials: Array<EnteredPartial | undefined> | undefined
  /** Only while a template runs that is compiled to be explained. */
  frame: TraceFrame | undefined = undefined
  #builtins: BuiltinContext | undefined

  constructor (run: RenderRun, { links, root, partials }: RunFrame, variables: Array<GoValue | undefined>) {
    this.run = run
    this.links = links
    this.root = root
    this.variablesOfRoot = root instanceof ScopeRoot ? root.variables() : undefined
    this.partials = partials
    this.variables = variables
    this.outputLimit = run.limits.output
  }

  get builtins (): BuiltinContext {
    if (this.#builtins === undefined) {
      const { run } = this
      const charge = (visits: number): void => run.charge(visits)
      this.#builtins = { printer: new Printer(charge), charge, now: () => run.now() }
    }
    return this.#builtins
  }
}

/** Where the values of a body come from, while it is explained. What is entered gets one of its own: the one before is in force again when it is left. */
export class TraceFrame {
  readonly trace: Trace
  dot: Provenance
  /** By slot. */
  readonly slots: Provenance[]
  /** Of the value of the statement that runs. */
  from = NOWHERE
  /** Of what the innermost `range` goes over. */
  ofList = NOWHERE

  constructor (trace: Trace, dot: Provenance, slots: Provenance[] = [dot]) {
    this.trace = trace
    this.dot = dot
    this.slots = slots
  }

  /** -1 is the dot. */
  provenanceOf (slot: number): Provenance {
    return slot < 0 ? this.dot : this.slots[slot] ?? NOWHERE
  }
}

/** Of a template that is compiled to be explained. */
export function frameOf ({ frame }: RenderState): TraceFrame {
  return frame as TraceFrame
}
