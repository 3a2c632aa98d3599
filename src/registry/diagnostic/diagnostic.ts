import { describeText, type TextName } from '../../base/errors.ts'
import { type TextPlace } from '../../base/json.ts'
import { type JsonPath } from '../../base/json-places.ts'
import { type StoredValue } from '../../store/store.ts'

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
    super(diagnostics.map(inWords).join('; '))
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
export function inWords ({ message, line, column, ...text }: Pick<Diagnostic, 'message' | 'messageIndex' | 'part' | 'member' | 'line' | 'column'>): string {
  if (line === undefined) return message
  return `${message} at ${[...describeText(text), `line ${line}`, `column ${column ?? 1}`].join(', ')}`
}
