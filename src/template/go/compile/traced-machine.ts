import { NOWHERE, type Provenance } from '../../trace/provenance.ts'
import { type Trace } from '../../trace/trace.ts'
import { type GoValue } from '../value/go-value.ts'
import { type Machine } from './machine.ts'

/** Where the dot and the variables of the body that runs come from. */
export class TracedMachine {
  readonly trace: Trace
  /** Whose template it is, if that of a partial. */
  partial: string | undefined
  dot = NOWHERE
  /** That of `$`. */
  argument = NOWHERE
  /** Parallel to `Machine.variables`, but for `$`. */
  slots: Provenance[] | undefined = undefined
  /** What the header of the `with` has read whose list comes next. */
  header = NOWHERE
  /** What the innermost `range` that runs goes over, and where that comes from. */
  list: GoValue = undefined
  ofList = NOWHERE

  constructor (trace: Trace) {
    this.trace = trace
  }

  /** Takes what the trace was told of the template that begins. @param partial whose template it is, if that of a partial */
  begin (partial: string | undefined): void {
    this.partial = partial
    this.argument = this.trace.takeArgument()
    this.dot = this.argument
    this.slots = undefined
  }

  assign (slot: number, provenance: Provenance): void {
    this.slots ??= []
    this.slots[slot] = provenance
  }
}

/** What is traced of a machine that runs what is compiled to be explained; the template has put it there. */
export function tracedOf ({ traced }: Machine): TracedMachine {
  return traced as TracedMachine
}
