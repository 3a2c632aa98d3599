import type { JsonObject } from '../../base/json.ts'
import { type EnteredPartial, type RunFrame, type Link, refuseRoot } from '../language.ts'
import { NOWHERE, type Provenance, type Writer } from '../provenance.ts'
import type { RenderRun } from '../run.ts'
import { ScopeRoot, TracedRoot } from '../scope.ts'
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
  traced: TracedState | undefined = undefined
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

export function tracedOf ({ traced }: RenderState): TracedState {
  return traced as TracedState
}

export class TracedState {
  readonly trace: Trace
  readonly ofVariables: Provenance
  partial: string | undefined
  dot = NOWHERE
  argument = NOWHERE
  /** By slot. Until `$` is assigned, `argument` has its provenance. */
  slots: Provenance[] | undefined = undefined
  from = NOWHERE
  list: GoValue = null
  ofList = NOWHERE

  constructor (trace: Trace, root: LazyNode) {
    this.trace = trace
    this.ofVariables = root instanceof TracedRoot ? root.ofVariables() : NOWHERE
  }

  begin (partial: string | undefined): void {
    this.partial = partial
    this.argument = this.trace.takeArgument()
    this.dot = this.argument
    this.slots = undefined
  }

  provenanceOf (slot: number): Provenance {
    if (slot < 0) return this.dot
    return this.slots?.[slot] ?? (slot === 0 ? this.argument : NOWHERE)
  }

  /** @throws RENDER_BUDGET */
  writeText (text: string, writer: Writer): void {
    this.trace.writeLiteral(text, writer, this.partial)
  }

  assign (slot: number, provenance: Provenance): void {
    this.slots ??= []
    this.slots[slot] = provenance
  }
}
