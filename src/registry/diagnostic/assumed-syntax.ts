import { type Syntax, type TemplateSyntaxError } from '../../template/language.ts'
import { inWords } from './diagnostic.ts'

type Mistake = Pick<TemplateSyntaxError, 'message' | 'line' | 'column'>

/** The names of the template languages, for sentences. */
export const LANGUAGE_NAMES: Readonly<Record<Syntax, string>> = { go: 'Go', handlebars: 'Handlebars' }

/**
 * The message about a text that is valid in neither language. The diagnostic is placed at Go's mistake, so the message has a place for the
 * other one only where the two differ.
 */
export function inNeither (asGo: Mistake, { message, line, column }: Mistake): string {
  const isThere = line === asGo.line && column === asGo.column
  return `the text is neither Go (${asGo.message}) nor Handlebars (${isThere ? message : inWords({ message, line, column })})`
}

/** The hint for a text whose prompt does not declare its language: the text may be in the other language than the one it was read in. */
export function ifMisjudged (read: Syntax): string {
  const other = read === 'go' ? 'handlebars' : 'go'
  return `it was read as ${LANGUAGE_NAMES[read]}: if it is ${LANGUAGE_NAMES[other]}, add "syntax": "${other}" to the prompt`
}
