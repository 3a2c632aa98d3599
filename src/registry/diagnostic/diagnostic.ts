import { describeText, type TextName } from '../../base/errors.ts'
import { type TextPlace } from '../../base/json.ts'
import { type JsonPath } from '../../base/json-places.ts'
import { type StoredValue } from '../../store/store.ts'

/** What is noticed about an entry, for its publisher. Codes are stable; line and column count from 1. */
export interface Diagnostic extends Pick<TextName, 'part' | 'member'> {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  /** The message of a prompt that is meant, from 0, when the prompt has several. */
  readonly messageIndex?: number
  readonly line?: number
  readonly column?: number
  /** The part of the value that is meant, as long as nobody has looked for its place in the text. */
  readonly field?: JsonPath
  /** What to do about it. */
  readonly hint?: string
  /** What of the entry is meant, for an extension that brings several things: its kind, `prompts`, and its id. */
  readonly subject?: { readonly kind: string, readonly id: string }
}

/** Why an entry cannot be taken at all. */
export class RejectedEntry extends Error {
  override readonly name = 'RejectedEntry'
  readonly diagnostics: readonly Diagnostic[]

  constructor (diagnostics: readonly Diagnostic[]) {
    super(diagnostics.map(inWords).join('; '))
    this.diagnostics = diagnostics
  }
}

/** A rejection with a single reason. @param place in what is stored */
export function reject (code: string, message: string, hint?: string, place?: TextPlace): RejectedEntry {
  return new RejectedEntry([{ severity: 'error', code, message, ...place, ...(hint === undefined ? {} : { hint }) }])
}

/** A diagnostic of a part of an entry, as the entry reports it. @param path what leads to the part */
export function ofPart (path: JsonPath, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, field: [...path, ...diagnostic.field ?? []] }
}

/** How things of a kind are named. */
interface KindWords {
  readonly name: string
  readonly noun: string
}

/** The diagnostic of an entry that an extension brings, with the entry's kind and id in front of its message. */
export function ofContributed ({ name, noun }: KindWords, id: string, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, message: `${noun} ${id}: ${diagnostic.message}`, subject: { kind: name, id } }
}

/** That something of an extension gives way to another one of its id. */
export function shadowed ({ name, noun }: KindWords, id: string, by: string): Diagnostic {
  const about = { message: `${noun} ${id} gives way to ${by}`, subject: { kind: name, id } }
  return noun === 'prompt' ? { severity: 'warning', code: 'PROMPT_SHADOWED', ...about } : { severity: 'warning', code: 'DEFINITION_SHADOWED', ...about }
}

/** The rejection of what the store has found to be no value. */
export function unreadable ({ reason, hint, place, code = 'VALUE_INVALID' }: Extract<StoredValue, { kind: 'bad' }>): RejectedEntry {
  return reject(code, `the value ${reason}`, hint, place)
}

/** Errors as warnings, for an entry that is taken all the same: what it names may be registered later. */
export function asWarnings (diagnostics: readonly Diagnostic[]): Diagnostic[] {
  return diagnostics.map(diagnostic => diagnostic.severity === 'error' ? { ...diagnostic, severity: 'warning' } : diagnostic)
}

/** A diagnostic's message with its place, for where there are only words. */
export function inWords ({ message, line, column, ...text }: Pick<Diagnostic, 'message' | 'messageIndex' | 'part' | 'member' | 'line' | 'column'>): string {
  if (line === undefined) return message
  return `${message} at ${[...describeText(text), `line ${line}`, `column ${column ?? 1}`].join(', ')}`
}
