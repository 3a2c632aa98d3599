import { type Log } from '../base/log.ts'

/** One change of the registry, as the log records it. */
export interface AuditedChange {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** The kind of the entry as it is in keys of the store. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** The versions before the change and after it. */
  readonly from?: unknown
  readonly to?: unknown
  readonly note?: string | undefined
  /** The name of the caller's token; empty when the service asks for no tokens. */
  readonly by: string
  readonly requestId: string
}

/** Writes one line for each change that was made. */
export type Audit = (change: AuditedChange) => void

/** Makes the audit, which writes changes to the log. @param onLabelMoved called with the label at every move of one */
export function createAudit (log: Log, onLabelMoved?: (label: string) => void): Audit {
  return change => {
    log.info({ ...change }, 'audit')
    if (change.label !== undefined) onLabelMoved?.(change.label)
  }
}
