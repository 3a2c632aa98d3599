import { describeText, type TextName } from '../base/errors.ts'
import { type JsonPath, placesInJson } from '../base/json-places.ts'
import type { TextPlace } from '../base/json.ts'
import type { StoredValue } from '../store/store.ts'
import { type Syntax, TemplateSyntaxError } from '../template/language.ts'

type SyntaxMistake = Pick<TemplateSyntaxError, 'message' | 'line' | 'column'>

/** The names of the template languages as they are written in messages. */
export const LANGUAGE_NAMES: Readonly<Record<Syntax, string>> = { go: 'Go', handlebars: 'Handlebars' }

/**
 * The message about a text that is valid neither in Go's template language nor in Handlebars. The line and column of the diagnostic are those of the
 * mistake by Go's rules. So the message names the place of the mistake by Handlebars' rules only if that is another place.
 */
export function inNeither (asGo: SyntaxMistake, { message, line, column }: SyntaxMistake): string {
  const isThere = line === asGo.line && column === asGo.column
  return `the text is neither Go (${asGo.message}) nor Handlebars (${isThere ? message : describeDiagnostic({ message, line, column })})`
}

/** The hint for a mistake in a text whose prompt does not declare its language: the text is perhaps in the other language than the service assumed. */
export function ifMisjudged (read: Syntax): string {
  const other = read === 'go' ? 'handlebars' : 'go'
  return `it was read as ${LANGUAGE_NAMES[read]}: if it is ${LANGUAGE_NAMES[other]}, add "syntax": "${other}" to the prompt`
}

/** The greatest number of diagnostics that get a line and column; nobody reads more. */
const MAX_LOCATED = 200

/**
 * Adds lines and columns to diagnostics that only name a member of the entry.
 * @param text the text that the caller sent; if it is no JSON, the diagnostics stay as they are
 * @param within the path of the entry in that JSON
 */
export function locate (diagnostics: readonly Diagnostic[], text: string, within: JsonPath = []): readonly Diagnostic[] {
  const placeless = diagnostics.filter(({ field, line }) => field !== undefined && line === undefined).slice(0, MAX_LOCATED)
  if (placeless.length === 0 || !/^\s*[[{]/.test(text)) return diagnostics
  const places = placesInJson(text, placeless.map(({ field = [] }) => [...within, ...field]))
  const found = new Map(placeless.map((diagnostic, index) => [diagnostic, places[index]]))
  return diagnostics.map(diagnostic => ({ ...diagnostic, ...found.get(diagnostic) }))
}

/** A problem of a registered entry, in the form in which the entry's publisher sees it. Codes are stable; line and column count from 1. */
export interface Diagnostic extends Pick<TextName, 'part' | 'member'> {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  /** The index, from 0, of the message that the diagnostic is about, when the prompt has several. */
  readonly messageIndex?: number
  readonly line?: number
  readonly column?: number
  /** The path of the member that the diagnostic is about, such as `messages.0`. `locate` replaces it by a line and column of the text. */
  readonly field?: JsonPath
  /** The advice to the publisher. */
  readonly hint?: string
  /** The kind (`prompts`) and id of the entry that the diagnostic is about, for an extension that brings several entries. */
  readonly subject?: { readonly kind: string, readonly id: string }
}

/** The error that refuses a whole entry: no part of it can be used. */
export class RejectedEntry extends Error {
  override readonly name = 'RejectedEntry'
  readonly diagnostics: readonly Diagnostic[]

  constructor (diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(describeDiagnostic).join('; '))
    this.diagnostics = diagnostics
  }
}

/** Makes the error that refuses an entry for a single reason. @param place the place in the stored text */
export function reject (code: string, message: string, hint?: string, place?: TextPlace): RejectedEntry {
  return new RejectedEntry([{ severity: 'error', code, message, ...place, ...(hint === undefined ? {} : { hint }) }])
}

/** Puts the path of a part of an entry in front of the path in a diagnostic about that part, so that the path begins at the entry itself. */
export function ofPart (path: JsonPath, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, field: [...path, ...diagnostic.field ?? []] }
}

/** Two words for a kind of entries: `name` is used in addresses (`prompts`), and `noun` in sentences (`prompt`). */
interface KindWords {
  readonly name: string
  readonly noun: string
}

/** Turns a diagnostic about an entry that an extension brings into a diagnostic about the extension: the message names the entry's kind and id. */
export function ofContributed ({ name, noun }: KindWords, id: string, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, message: `${noun} ${id}: ${diagnostic.message}`, subject: { kind: name, id } }
}

/**
 * The diagnostic about an entry that an extension brings and that is not offered, because another entry with the same id takes precedence.
 * @param by the other entry, in words
 */
export function shadowed ({ name, noun }: KindWords, id: string, by: string): Diagnostic {
  const about = { message: `${noun} ${id} gives way to ${by}`, subject: { kind: name, id } }
  return noun === 'prompt' ? { severity: 'warning', code: 'PROMPT_SHADOWED', ...about } : { severity: 'warning', code: 'DEFINITION_SHADOWED', ...about }
}

/** The error that refuses an entry, because its stored value cannot be read. */
export function unreadable ({ reason, hint, place, code = 'VALUE_INVALID' }: Extract<StoredValue, { kind: 'bad' }>): RejectedEntry {
  return reject(code, `the value ${reason}`, hint, place)
}

/** Turns errors into warnings, for an entry that is accepted although it names something unregistered, which can be registered later. */
export function asWarnings (diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.map(diagnostic => diagnostic.severity === 'error' ? { ...diagnostic, severity: 'warning' } : diagnostic)
}

/** The message of a diagnostic, followed by its place in words; for output that has no fields for a place. */
export function describeDiagnostic (
  { message, line, column, ...text }: Pick<Diagnostic, 'message' | 'messageIndex' | 'part' | 'member' | 'line' | 'column'>
): string {
  if (line === undefined) return message
  return `${message} at ${[...describeText(text), `line ${line}`, `column ${column ?? 1}`].join(', ')}`
}

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
