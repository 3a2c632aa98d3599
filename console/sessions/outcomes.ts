/** What became of a command or of a call of a tool, as the service's events tell it. */
export interface Ended {
  readonly phase: 'proposed' | 'ended'
  /** What a person said to it; left out if nobody was asked. */
  readonly decision?: 'approve' | 'reject'
  /** Who said so; empty where callers have no names. */
  readonly by?: string
  /** Why the operator's rules or the budget kept it from running. */
  readonly deniedBy?: string
  readonly outcome?: string
  readonly exitCode?: number
}

export interface OutcomeChip {
  readonly said: 'proposed' | 'unasked' | 'allowed' | 'rejected' | 'denied' | 'unknown' | 'exit' | 'outcome'
  /** Who decided, the reason, the exit code, or the outcome. */
  readonly about: string
  readonly tone: '' | 'good' | 'warn' | 'bad'
}

/** Whether it was allowed comes first, then how it ended. What was rejected or denied has not run: it has no other end. */
export function outcomeChips ({ phase, decision, by = '', deniedBy, outcome, exitCode }: Ended): readonly OutcomeChip[] {
  if (deniedBy !== undefined) return [{ said: 'denied', about: deniedBy, tone: 'bad' }]
  if (decision === 'reject') return [{ said: 'rejected', about: by, tone: 'bad' }]
  if (phase === 'proposed') return [{ said: 'proposed', about: '', tone: 'warn' }]
  const asked: OutcomeChip = decision === undefined ? { said: 'unasked', about: '', tone: '' } : { said: 'allowed', about: by, tone: '' }
  if (outcome === 'refused') return [{ said: 'outcome', about: outcome, tone: 'bad' }]
  if (outcome === 'unknown') return [asked, { said: 'unknown', about: '', tone: 'warn' }]
  if (exitCode !== undefined) return [asked, { said: 'exit', about: String(exitCode), tone: exitCode === 0 ? 'good' : 'bad' }]
  return outcome === undefined ? [asked] : [asked, { said: 'outcome', about: outcome, tone: outcome === 'failed' ? 'bad' : 'good' }]
}
