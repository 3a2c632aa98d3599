import { type Writer } from '../../../explain/piece.ts'
import { NOWHERE, type Provenance } from '../../../explain/provenance.ts'
import { type Trace } from '../../../explain/trace.ts'
import { TracedRoot } from '../../../explain/traced-root.ts'
import { type LazyNode } from '../../../value.ts'
import { type GoValue } from '../../value/go-value.ts'

/** Where the dot and the variables of the body that runs come from. */
export class TracedMachine {
  readonly trace: Trace
  /** Where the caller's variables come from. */
  readonly ofVariables: Provenance
  /** Whose template it is, if that of a partial. */
  partial: string | undefined
  dot = NOWHERE
  /** That of `$`. */
  argument = NOWHERE
  /** Parallel to `Machine.variables`, but for `$`. */
  slots: Provenance[] | undefined = undefined
  /** Where the value comes from of the statement that begins. */
  from = NOWHERE
  /** What the innermost `range` that runs goes over, and where that comes from. */
  list: GoValue = null
  ofList = NOWHERE

  constructor (trace: Trace, root: LazyNode) {
    this.trace = trace
    this.ofVariables = root instanceof TracedRoot ? root.ofVariables() : NOWHERE
  }

  /** Takes what the trace was told of the template that begins. @param partial whose template it is, if that of a partial */
  begin (partial: string | undefined): void {
    this.partial = partial
    this.argument = this.trace.takeArgument()
    this.dot = this.argument
    this.slots = undefined
  }

  /** Where that comes from which a path begins with. @param slot -1 for the dot */
  provenanceOf (slot: number): Provenance {
    if (slot < 0) return this.dot
    return this.slots?.[slot] ?? (slot === 0 ? this.argument : NOWHERE)
  }

  /** Tells of a piece of the template's text. @throws RENDER_BUDGET */
  writeText (text: string, writer: Writer): void {
    this.trace.writeLiteral(text, writer, this.partial)
  }

  assign (slot: number, provenance: Provenance): void {
    this.slots ??= []
    this.slots[slot] = provenance
  }
}
