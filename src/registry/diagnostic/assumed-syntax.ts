import { type Syntax, type TemplateSyntaxError } from '../../template/language.ts'
import { inWords } from './diagnostic.ts'

type Mistake = Pick<TemplateSyntaxError, 'message' | 'line' | 'column'>

/** The names of the template languages as they are written in messages. */
export const LANGUAGE_NAMES: Readonly<Record<Syntax, string>> = { go: 'Go', handlebars: 'Handlebars' }

/**
 * The message about a text that is valid neither in Go's template language nor in Handlebars. The line and column of the diagnostic are those of the
 * mistake by Go's rules. So the message names the place of the mistake by Handlebars' rules only if that is another place.
 */
export function inNeither (asGo: Mistake, { message, line, column }: Mistake): string {
  const isThere = line === asGo.line && column === asGo.column
  return `the text is neither Go (${asGo.message}) nor Handlebars (${isThere ? message : inWords({ message, line, column })})`
}

/** The hint for a mistake in a text whose prompt does not declare its language: the text is perhaps in the other language than the service assumed. */
export function ifMisjudged (read: Syntax): string {
  const other = read === 'go' ? 'handlebars' : 'go'
  return `it was read as ${LANGUAGE_NAMES[read]}: if it is ${LANGUAGE_NAMES[other]}, add "syntax": "${other}" to the prompt`
}
