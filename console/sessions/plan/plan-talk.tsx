import { t } from '../../text/text.ts'
import { Talk } from '../talk.tsx'
import { type Followed, type Session } from '../follow/use-session.ts'

/** Shows the dialogue about a plan. */
export function PlanTalk ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  return (
    <section className='panel'>
      <header><h2>{t.dialogue}</h2></header>
      <div className='body'><Talk session={session} followed={followed} isMain={false} /></div>
    </section>
  )
}
