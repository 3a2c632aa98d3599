import { type Log } from '../base/log.ts'

/** One change of a registered entry, as the audit log records it. */
export interface AuditedChange {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** The kind of the entry, named as in the store's keys: `templates` for prompts. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /**
   * What the moved label stood for before the change: a version, or versions with weights. `to` is what it stands for now; null when it was
   * removed. For a published prompt, `from` is the version that was served before.
   */
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
