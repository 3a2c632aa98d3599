import { TemplateSyntaxError } from '../../template/language.ts'

/**
 * Turns what the compile of a template has thrown into a syntax error of the template. A stack overflow counts as one, too: parsers recurse, and a
 * text within all bounds can still nest more deeply than the stack allows. So such a text makes only its own prompt unusable.
 * @throws the given error, when it is not about the template's text
 */
export function asMistake (error: unknown): TemplateSyntaxError {
  if (error instanceof TemplateSyntaxError) return error
  if (error instanceof RangeError) return new TemplateSyntaxError('the template nests or chains too deeply', { line: 1, column: 1 })
  throw error
}
