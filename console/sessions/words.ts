import { t } from '../text/text.ts'

/** What a session waits for, by the state in which its engine is, with the name of its colour. */
const WAITING = (): Readonly<Record<string, readonly [words: string, tone: string]>> => ({
  planned: [t.statePlanned, 'warn'],
  awaiting_confirmation: [t.stateWaitsChange, 'warn'],
  waiting_cmd: [t.stateWaitsCommand, 'warn'],
  await_input: [t.stateYourTurn, ''],
  applied: [t.stateApplied, 'good'],
  undone: [t.stateUndone, ''],
  rejected: [t.stateRejected, ''],
  no_changes: [t.stateNoChanges, '']
})

/** The state of a session in words, and the name of its colour. @param word the state in which the session's engine is */
export function stateOf (status: string, word = ''): { readonly words: string, readonly tone: string } {
  switch (status) {
    case 'running': return { words: word === 'applying' ? t.stateApplying : t.stateRunning, tone: 'accent' }
    case 'waiting_input': {
      const [words, tone] = WAITING()[word] ?? [t.stateWaitsYou, 'warn']
      return { words, tone }
    }
    case 'waiting_approval': return { words: t.stateWaitsApproval, tone: 'warn' }
    case 'completed': return { words: t.stateCompleted, tone: 'good' }
    case 'failed': return { words: t.stateFailed, tone: 'bad' }
    case 'cancelled': return { words: t.stateCancelled, tone: '' }
    case 'expired': return { words: t.stateExpired, tone: '' }
    default: return { words: status, tone: '' }
  }
}

export const hasEnded = (status: string): boolean => ['completed', 'failed', 'cancelled', 'expired'].includes(status)

/** Splits the name of a definition, such as `agents/desk`, into its kind and its own name. */
export function partsOf (definition: string): { readonly kind: string, readonly name: string } {
  const [kind = '', ...name] = definition.split('/')
  return { kind, name: name.join('/') }
}
