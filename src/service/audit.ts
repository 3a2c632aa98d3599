import { type Log } from '../base/log.ts'

/** One change of a registered entry, as the audit log records it. */
export interface AuditedChange {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** The kind of the entry, in the word that keys of the store use: `templates` for prompts. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** The version that a label meant before the change, and the one it means after. */
  readonly from?: unknown
  readonly to?: unknown
  readonly note?: string | undefined
  /** The name of the caller's token; empty when the service asks for no tokens. */
  readonly by: string
  readonly requestId: string
}

/** Writes a log line about one change of an entry: who has changed what. */
export type Audit = (change: AuditedChange) => void

/** Makes the audit, which writes changes to the log. @param onLabelMoved called with the label whenever a label is moved or removed */
export function createAudit (log: Log, onLabelMoved?: (label: string) => void): Audit {
  return change => {
    log.info({ ...change }, 'audit')
    if (change.label !== undefined) onLabelMoved?.(change.label)
  }
}
