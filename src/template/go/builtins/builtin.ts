import { type FunctionContext } from '../../functions/function.ts'
import { type Printer } from '../fmt/printer.ts'
import { type GoValue } from '../value/go-value.ts'

/** What the built-in functions of Go's template language can use of the run (one rendering of a template). */
export interface BuiltinContext extends FunctionContext {
  readonly printer: Printer
}

/** A builtin function of Go's template language. It gets the values of its arguments; a missing value comes as nil. */
export interface Builtin {
  readonly name: string
  readonly least: number
  readonly most: number
  /** Computes the result. @throws CallError with the text of Go's error */
  apply (context: BuiltinContext, args: readonly GoValue[]): GoValue
  /** Computes the result for exactly two arguments. It is faster than `apply`, because no list of arguments is made. */
  applyPair? (context: BuiltinContext, first: GoValue, second: GoValue): GoValue
}
