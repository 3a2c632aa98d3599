import { type JsonPath } from '../../base/json-places.ts'

/** A finding of a check of a tool's registration. An `error` rejects the registration; a warning or hint is advice. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The part of the registration that the finding is about. */
  readonly field?: JsonPath
}
