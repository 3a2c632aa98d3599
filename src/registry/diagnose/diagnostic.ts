import { type TextPlace } from '../../base/json.ts'
import { type StoredValue } from '../../store/store.ts'

/** What is noticed about an entry, for its publisher. Codes are stable; line and column count from 1. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  /** The message of a prompt that is meant, from 0, when the prompt has several. */
  readonly messageIndex?: number
  readonly line?: number
  readonly column?: number
  /** What to do about it. */
  readonly hint?: string
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

/** A diagnostic of a prompt, as the extension that it comes from tells it. */
export function ofPrompt (id: string, diagnostic: Diagnostic): Diagnostic {
  return { ...diagnostic, message: `prompt ${id}: ${diagnostic.message}` }
}

/** That a prompt of an extension gives way to another one. */
export function shadowed (id: string, by: string): Diagnostic {
  return { severity: 'warning', code: 'PROMPT_SHADOWED', message: `prompt ${id} gives way to ${by}` }
}

/** Whether an extension's diagnostic is about one of its prompts: `ofPrompt`, or `shadowed`. */
export function isAboutPrompt ({ message }: Diagnostic, id: string): boolean {
  return message.startsWith(`prompt ${id}: `) || message.startsWith(`prompt ${id} `)
}

/** The rejection of what the store has found to be no value. */
export function unreadable ({ reason, hint, place }: Extract<StoredValue, { kind: 'bad' }>): RejectedEntry {
  return reject('VALUE_INVALID', `the value ${reason}`, hint, place)
}

/** A diagnostic's message with its place, for where there are only words. */
export function inWords ({ message, messageIndex, line, column }: Pick<Diagnostic, 'message' | 'messageIndex' | 'line' | 'column'>): string {
  if (line === undefined) return message
  return `${message} at ${messageIndex === undefined ? '' : `message ${messageIndex}, `}line ${line}, column ${column ?? 1}`
}
