import { TemplateSyntaxError } from '../../template/language.ts'

/**
 * The syntax error that the compile of a template has thrown. A stack overflow counts as one, too: parsers recurse, and a text within all bounds can
 * still nest more deeply than the stack allows. Such a text must harm nothing but itself.
 * @throws the error itself when it is no mistake of the text
 */
export function asMistake (error: unknown): TemplateSyntaxError {
  if (error instanceof TemplateSyntaxError) return error
  if (error instanceof RangeError) return new TemplateSyntaxError('the template nests or chains too deeply', { line: 1, column: 1 })
  throw error
}
