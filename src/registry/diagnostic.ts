import { describeText, type TextName } from '../base/errors.ts'
import { type JsonPath, placesInJson } from '../base/json-places.ts'
import type { TextPlace } from '../base/json.ts'
import type { StoredValue } from '../store/store.ts'
import { type Syntax, TemplateSyntaxError } from '../template/language.ts'

type SyntaxMistake = Pick<TemplateSyntaxError, 'message' | 'line' | 'column'>

export const LANGUAGE_NAMES: Readonly<Record<Syntax, string>> = { go: 'Go', handlebars: 'Handlebars' }

/** The diagnostic stands at Go's mistake, so Handlebars' place is named only if it is another one. */
export function inNeither (asGo: SyntaxMistake, { message, line, column }: SyntaxMistake): string {
  const isThere = line === asGo.line && column === asGo.column
  return `the text is neither Go (${asGo.message}) nor Handlebars (${isThere ? message : describeDiagnostic({ message, line, column })})`
}

export function ifMisjudged (read: Syntax): string {
  const other = read === 'go' ? 'handlebars' : 'go'
  return `it was read as ${LANGUAGE_NAMES[read]}: if it is ${LANGUAGE_NAMES[other]}, add "syntax": "${other}" to the prompt`
}

/** Nobody reads more diagnostics. */
const MAX_LOCATED = 200

/** `within`: the entry's path in `text`. If `text` is no JSON, the diagnostics stay as they are. */
export function locate (diagnostics: readonly Diagnostic[], text: string, within: JsonPath = []): readonly Diagnostic[] {
  const placeless = diagnostics.filter(({ field, line }) => field !== undefined && line === undefined).slice(0, MAX_LOCATED)
  if (placeless.length === 0 || !/^\s*[[{]/.test(text)) return diagnostics
  const places = placesInJson(text, placeless.map(({ field = [] }) => [...within, ...field]))
  const found = new Map(placeless.map((diagnostic, index) => [diagnostic, places[index]]))
  return diagnostics.map(diagnostic => ({ ...diagnostic, ...found.get(diagnostic) }))
}

/** As the entry's publisher sees it. Codes are stable; line and column count from 1. */
export interface Diagnostic extends Pick<TextName, 'part' | 'member'> {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly messageIndex?: number
  readonly line?: number
  readonly column?: number
  /** Such as `messages.0`; `locate` replaces it by a line and column. */
  readonly field?: JsonPath
  readonly hint?: string
  /** Which entry it is about, where one key (of an extension) has several. */
  readonly subject?: { readonly kind: string, readonly id: string }
}

export class RejectedEntry extends Error {
  override readonly name = 'RejectedEntry'
  readonly diagnostics: readonly Diagnostic[]

  constructor (diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(describeDiagnostic).join('; '))
    this.diagnostics = diagnostics
  }
}

export function reject (code: string, message: string, hint?: string, place?: TextPlace): RejectedEntry {
  return new RejectedEntry([{ severity: 'error', code, message, ...place, hint }])
}

export function ofPart (path: JsonPath, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, field: [...path, ...diagnostic.field ?? []] }
}

interface KindWords {
  readonly name: string
  readonly noun: string
}

export function ofContributed ({ name, noun }: KindWords, id: string, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, message: `${noun} ${id}: ${diagnostic.message}`, subject: { kind: name, id } }
}

export function shadowed ({ name, noun }: KindWords, id: string, by: string): Diagnostic {
  const about = { message: `${noun} ${id} gives way to ${by}`, subject: { kind: name, id } }
  return noun === 'prompt' ? { severity: 'warning', code: 'PROMPT_SHADOWED', ...about } : { severity: 'warning', code: 'DEFINITION_SHADOWED', ...about }
}

export function unreadable ({ reason, hint, place, code = 'VALUE_INVALID' }: Extract<StoredValue, { kind: 'bad' }>): RejectedEntry {
  return reject(code, `the value ${reason}`, hint, place)
}

/** For an entry that names something unregistered, which can be registered later. */
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

/** A stack overflow counts too: parsers recurse, so such a text makes only its own prompt unusable. @throws any other error */
export function asMistake (error: unknown): TemplateSyntaxError {
  if (error instanceof TemplateSyntaxError) return error
  if (error instanceof RangeError) return new TemplateSyntaxError('the template nests or chains too deeply', { line: 1, column: 1 })
  throw error
}
