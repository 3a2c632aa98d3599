import { Link, Redirect, useSearch } from 'wouter'
import { PageTitle } from '../../parts/page-title.tsx'
import { t } from '../../text/text.ts'
import { Definitions } from './definitions.tsx'
import { StartAgent } from './start-agent.tsx'
import { StartPlan } from './start-plan.tsx'
import { StartSkill } from './start-skill.tsx'

/** Matches the part after `#` in an address of the former page for skills: the id of a session. */
const OLD_SESSION = /^#([0-9a-f]{32})$/

/** The page that starts a session. If its address names no definition, it lists all definitions. */
export function StartPage () {
  const of = new URLSearchParams(useSearch()).get('of') ?? ''
  const old = OLD_SESSION.exec(location.hash)?.[1]
  if (old !== undefined) return <Redirect to={`/sessions/${old}`} replace />
  const [kind = '', ...rest] = of.split('/')
  const name = rest.join('/')
  const crumbs = <Link href='/sessions'>{t.sessions}</Link>
  if (kind === 'agents' && name !== '') return <><PageTitle title={name} crumbs={crumbs} /><StartAgent id={name} /></>
  if (kind === 'skills' && name !== '') return <><PageTitle title={name} crumbs={crumbs} /><StartSkill id={name} /></>
  if (kind === 'plans') {
    return (
      <>
        <PageTitle title={name === '' || name === 'default' ? t.planNew : name} crumbs={crumbs} />
        <StartPlan profile={name === 'default' ? '' : name} />
      </>
    )
  }
  return <><PageTitle title={t.startSession} crumbs={crumbs} /><Definitions only={kind === 'skills' || kind === 'agents' ? kind : undefined} /></>
}
