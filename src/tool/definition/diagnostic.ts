import { type JsonPath } from '../../base/json-places.ts'

/** What a check found in a registration. An `error` rejects it; the rest is advice. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The part of the registration that is meant. */
  readonly field?: JsonPath
}
