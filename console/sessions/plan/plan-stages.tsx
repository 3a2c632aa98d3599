import { t } from '../../text/text.ts'
import { type SessionEvent } from '../follow/session-socket.ts'
import { type Plan } from './use-plan.ts'

/** Shows how far a plan is: planned, looked at, written, checked. */
export function PlanStages ({ plan: { state }, events, seen, all }: {
  readonly plan: Plan
  readonly events: readonly SessionEvent[]
  readonly seen: number
  readonly all: number
}) {
  const checks = events.filter(({ event, data }) => event === 'command' && data['check'] !== undefined)
  const last = checks.at(-1)?.data['passed']
  const isWritten = state === 'applied'
  const stages = [
    { words: t.stagePlanned, tone: ({ planning: 'warn', failed: 'bad', draft: 'bad' })[state] ?? 'good' },
    { words: all === 0 ? t.stageLookedAt : t.stageLookedAtOf(seen, all), tone: all === 0 ? '' : seen === all ? 'good' : 'warn' },
    { words: state === 'undone' ? t.stageUndone : t.stageWritten, tone: isWritten ? 'good' : state === 'applying' ? 'warn' : '' },
    { words: last === false ? t.stageCheckFailed : t.stageChecked, tone: last === undefined ? '' : last === true ? 'good' : 'bad' }
  ]
  return (
    <ol className='stages'>
      {stages.map(({ words, tone }) => (
        <li key={words} className='row'>
          <span className={`dot ${tone}`} />
          <span className={tone === '' ? 'quiet' : undefined}>{words}</span>
        </li>
      ))}
    </ol>
  )
}
