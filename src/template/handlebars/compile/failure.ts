import { FunctionError } from '../../functions/function.ts'
import { type Position } from '../../position.ts'
import { RenderError } from '../../language.ts'

/** The error to throw for an error of a function. A function's own errors get their place; others stay as they are. */
export function failAt (error: unknown, at: Position, name?: string): unknown {
  if (!(error instanceof FunctionError)) return error
  return new RenderError('handlebars', name === undefined ? error.message : `${name}: ${error.message}`, at)
}
