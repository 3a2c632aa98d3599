import { t } from '../../text/text.ts'
import { SessionFacts } from '../session-facts.tsx'
import { Talk } from '../talk.tsx'
import { type Followed, type Session } from '../follow/use-session.ts'
import { useSkill, Wanted } from './wanted.tsx'

/** The tab of a skill: its dialogue and its commands, and at the end what the skill waits for now. */
export function SkillTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const skill = useSkill(session)
  return (
    <div className='split aside'>
      <div><Talk session={session} followed={followed}><Wanted session={session} skill={skill} /></Talk></div>
      <aside className='stack'>
        <SessionFacts session={session}>
          {skill.data !== undefined && <><dt>{t.runsOn}</dt><dd className='mono'>{skill.data.serverId ?? t.byYourself}</dd></>}
        </SessionFacts>
      </aside>
    </div>
  )
}
