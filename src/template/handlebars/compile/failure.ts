import { FunctionError } from '../../functions/function.ts'
import { type Position } from '../../position.ts'
import { RenderError } from '../../language.ts'

/** Turns the error of a function into the one to throw. A function's own error gets its place in the template; any other stays as it is. */
export function failAt (error: unknown, at: Position, name?: string): unknown {
  if (!(error instanceof FunctionError)) return error
  return new RenderError('handlebars', name === undefined ? error.message : `${name}: ${error.message}`, at)
}
