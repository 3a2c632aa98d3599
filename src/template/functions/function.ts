import { type Value } from '../value.ts'

/** What the functions of a template can use of the run (one rendering of a template). */
export interface FunctionContext {
  /** The time of the run, which stays the same throughout. */
  now (): Date
  /**
   * Counts work against the limit of the render, before the work is done. One visit is the work for one element or 64 UTF-16 units of text that the
   * function reads or makes.
   */
  charge (visits: number): void
}

/**
 * A function that both template languages offer under one name. Before the call, the language resolves arguments that are `PENDING`, `Absent` or lazy, so
 * `apply` gets only plain data and `NOTHING` (the result of a failed tool). `and`, `or` and `default` are not among these functions, because they must
 * not evaluate every argument.
 */
export interface TemplateFunction {
  readonly name: string
  /** The names of the arguments for the documentation; in Go the value before a `|` becomes the last one: `separator list`. */
  readonly parameters: string
  readonly summary: string
  /** An example in each template language, which the tests run; the docs print that in Handlebars. */
  readonly example: { readonly go: string, readonly handlebars: string, readonly variables: Readonly<Record<string, unknown>>, readonly output: string }
  /** The least and the greatest number of arguments. */
  readonly arity: { readonly least: number, readonly most: number }
  /** Computes the result. @throws FunctionError with a reason, to which the language adds the place */
  apply (args: readonly Value[], context: FunctionContext): Value
}

/** Thrown when a function cannot work on its arguments. */
export class FunctionError extends Error {
  override readonly name = 'FunctionError'
}
