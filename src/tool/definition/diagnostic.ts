import { type JsonPath } from '../../base/json-places.ts'

/** A finding about a tool's registration. An `error` rejects the registration; any other severity is advice. */
export interface Diagnostic {
  readonly severity: 'error' | 'warning' | 'hint'
  readonly code: string
  readonly message: string
  readonly hint?: string
  /** The path of the member that the finding is about. */
  readonly field?: JsonPath
}
