import { type FunctionContext } from '../../functions/function.ts'
import { type Printer } from '../fmt/printer.ts'
import { type GoValue } from '../value/go-value.ts'

/** What a builtin may use of the run. */
export interface BuiltinContext extends FunctionContext {
  readonly printer: Printer
}

/** A function that Go's templates have. Its arguments are known; what is missing comes as nil. */
export interface Builtin {
  readonly name: string
  readonly least: number
  readonly most: number
  /** @throws CallError with Go's text */
  apply (context: BuiltinContext, args: readonly GoValue[]): GoValue
  /** The same for exactly two arguments, without a list. */
  applyPair? (context: BuiltinContext, first: GoValue, second: GoValue): GoValue
}
