import { type Log } from '../base/log.ts'

/** One change of a registered entry, as the audit log records it. */
export interface AuditedChange {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** The kind of the entry, by its name in the keys of the store: `templates` for prompts. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** The version, or versions with weights, that the label meant before the change. `to` has those after it; null when the label was removed. */
  readonly from?: unknown
  readonly to?: unknown
  readonly note?: string | undefined
  /** The name of the caller's token; empty when the service asks for no tokens. */
  readonly by: string
  readonly requestId: string
}

/** Writes a log line about one change of an entry: who has changed what. */
export type Audit = (change: AuditedChange) => void

/** Makes the function that writes changes to the log. @param onLabelMoved called with each label that was moved or removed */
export function createAudit (log: Log, onLabelMoved?: (label: string) => void): Audit {
  return change => {
    log.info({ ...change }, 'audit')
    if (change.label !== undefined) onLabelMoved?.(change.label)
  }
}
