import { type Log } from '../base/log.ts'

/** One change of what is registered, as the log tells it. */
export interface AuditedChange {
  readonly action: 'publish' | 'withdraw' | 'freeze' | 'restore' | 'move label' | 'remove label' | 'remove version'
  /** As keys have it. */
  readonly kind: string
  readonly id: string
  readonly version?: number | undefined
  readonly label?: string | undefined
  /** What was there before, and what is now: versions. */
  readonly from?: unknown
  readonly to?: unknown
  readonly note?: string | undefined
  /** The name of the token; empty where none is asked for. */
  readonly by: string
  readonly requestId: string
}

/** Writes one line for each change that was made. */
export type Audit = (change: AuditedChange) => void

/** @param onLabelMoved told of every move of a label */
export function createAudit (log: Log, onLabelMoved?: (label: string) => void): Audit {
  return change => {
    log.info({ ...change }, 'audit')
    if (change.label !== undefined) onLabelMoved?.(change.label)
  }
}
