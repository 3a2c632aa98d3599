import { type Value } from '../value.ts'

/** What a function may use of the run: it pays for its work before it does it. */
export interface FunctionContext {
  /** The run's pinned clock. */
  now (): Date
  /** One visit per element or 64 bytes that the function reads or makes. */
  charge (visits: number): void
}

/**
 * A function that both languages offer under one name. Engines resolve pending, absent and lazy arguments before they
 * call it, so `apply` meets plain data and `NOTHING` only. `and`, `or` and `default` are forms of the engines instead,
 * since they do not evaluate what they do not need.
 */
export interface TemplateFunction {
  readonly name: string
  /** The arguments as documented, the piped one last: `separator list`. */
  readonly parameters: string
  readonly summary: string
  /** One example a language, run by the tests and printed in the docs. */
  readonly example: { readonly go: string, readonly handlebars: string, readonly variables: Readonly<Record<string, unknown>>, readonly output: string }
  /** How many arguments it takes. */
  readonly arity: { readonly least: number, readonly most: number }
  /** @throws FunctionError with a reason; the engine adds the place. */
  apply (args: readonly Value[], context: FunctionContext): Value
}

/** Why a function cannot work on its arguments. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError'
}
