import { type EngineKey } from '../session/engine.ts'
import { type LabelChange } from '../session/model.ts'

export interface ReleaseSetting {
  readonly change: LabelChange
  readonly diff: string
  readonly note?: string | undefined
  /** Whether the stored tests have to pass. */
  readonly tests: boolean
  /** How many others have to look. */
  readonly approvals: number
}

export interface ReleaseResult {
  readonly change: LabelChange
  readonly note?: string | undefined
  readonly approvals: number
  readonly approvedBy: readonly string[]
}

export const RELEASE: EngineKey<ReleaseSetting, ReleaseResult> = { name: 'release/1' }
