import { type Syntax, type TemplateSyntaxError } from '../../template/language.ts'
import { inWords } from './diagnostic.ts'

type Mistake = Pick<TemplateSyntaxError, 'message' | 'line' | 'column'>

/** What the template languages are called in sentences. */
export const LANGUAGE_NAMES: Readonly<Record<Syntax, string>> = { go: 'Go', handlebars: 'Handlebars' }

/** What is wrong with a text that is in neither language; whoever reads it is told the place of the first. */
export function inNeither (asGo: Mistake, { message, line, column }: Mistake): string {
  const isThere = line === asGo.line && column === asGo.column
  return `the text is neither Go (${asGo.message}) nor Handlebars (${isThere ? message : inWords({ message, line, column })})`
}

/** Advice for a text that was read in a language which its prompt does not name: it may be in the other. */
export function ifMisjudged (read: Syntax): string {
  const other = read === 'go' ? 'handlebars' : 'go'
  return `it was read as ${LANGUAGE_NAMES[read]}: if it is ${LANGUAGE_NAMES[other]}, add "syntax": "${other}" to the prompt`
}
