import { type Writer } from '../../../explain/piece.ts'
import { NOWHERE, type Provenance } from '../../../explain/provenance.ts'
import { type Trace } from '../../../explain/trace.ts'
import { TracedRoot } from '../../../explain/traced-root.ts'
import { type LazyNode } from '../../../value.ts'
import { type GoValue } from '../../value/go-value.ts'

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
