import { TemplateSyntaxError } from '../../template/language.ts'

/**
 * The mistake that a compile has found. The parsers recurse: a text within all bounds can still chain more deeply than the
 * stack goes, and must hurt itself only.
 * @throws what is no mistake of the text
 */
export function asMistake (error: unknown): TemplateSyntaxError {
  if (error instanceof TemplateSyntaxError) return error
  if (error instanceof RangeError) return new TemplateSyntaxError('the template nests or chains too deeply', { line: 1, column: 1 })
  throw error
}
