import { Link } from 'wouter'
import { Revealed } from '../parts/reveal.tsx'
import { t } from '../text/text.ts'
import { useSession } from '../sessions/follow/use-session.ts'
import { useSkill, Wanted } from '../sessions/skill/wanted.tsx'
import { hasEnded, partsOf } from '../sessions/words.ts'
import { type Session } from '../sessions/follow/use-session.ts'
import { type TerminalState } from './terminal-api.ts'

export interface SkillPanelProps {
  /** The id of the skill's session. */
  readonly id: string
  readonly state: TerminalState | undefined
  /** Sends Ctrl C to the shell. */
  readonly onInterrupt: () => void
  /** Takes the panel away once the skill has ended. */
  readonly onClose: () => void
}

/** The panel beside a terminal, which shows the last message of the skill, and what the skill waits for now. */
export function SkillPanel (props: SkillPanelProps) {
  const followed = useSession(props.id)
  const session = followed.query.data
  if (session === undefined) return <p className='quiet loading' role='status'>{t.loading}</p>
  const message = followed.said.findLast(({ role, text }) => role === 'assistant' && text !== '')?.text ?? ''
  const step = followed.events.findLast(({ event }) => event === 'step')?.data
  return <Panel {...props} session={session} message={message} step={step} />
}

interface PanelProps extends SkillPanelProps {
  readonly session: Session
  readonly message: string
  readonly step: Readonly<Record<string, unknown>> | undefined
}

function Panel ({ session, message, step, state, onInterrupt, onClose }: PanelProps) {
  const skill = useSkill(session)
  const isEnded = hasEnded(session.status)
  // The service does not type the skill's command while the shell's input line has other text: the shell would run both as one command.
  const isHeldUp = session.status === 'running' && (state === 'typing' || state === 'busy')
  return (
    <>
      <section className='panel'>
        <header>
          <h2 className='wrap'><Link href={`/sessions/${session.id}`}>{partsOf(session.definition).name}</Link></h2>
          <span className='grow' />
          {step !== undefined && <span className='quiet num'>{t.stepOf(String(step['step']), String(step['max']))}</span>}
          {isEnded && <button type='button' className='button plain small' aria-label={t.close} onClick={onClose}>✕</button>}
        </header>
        {(message !== '' || session.status === 'running') && (
          <div className='body'><p className='said pre' aria-live='polite'><Revealed text={message === '' ? t.isAnswering : message} /></p></div>
        )}
      </section>
      {isHeldUp && (
        <div className='note warn' role='status'>
          <span className='grow'>{t.waitsForLine}</span>
          <button type='button' className='button small' onClick={onInterrupt}>Ctrl C</button>
        </div>
      )}
      <Wanted session={session} skill={skill} />
    </>
  )
}
