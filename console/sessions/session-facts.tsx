import { type ReactNode } from 'react'
import { When } from '../parts/when.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { t } from '../text/text.ts'
import { type Session } from './follow/use-session.ts'

/** Shows the general facts about a session: its owner, its definition, and when it began and last changed. */
export function SessionFacts ({ session, children }: { readonly session: Session, readonly children?: ReactNode }) {
  return (
    <section className='panel'>
      <header><h2>{t.session}</h2><span className='grow' /><CopyButton text={session.id} label={t.copyId} /></header>
      <div className='body'>
        <dl className='facts'>
          {session.owner !== '' && <><dt>{t.owner}</dt><dd>{session.owner}</dd></>}
          <dt>{t.definition}</dt><dd className='wrap'>{session.definition}</dd>
          <dt>{t.revisionTitle}</dt><dd className='mono wrap'>{session.revision}</dd>
          {children}
          <dt>{t.began}</dt><dd><When at={session.createdAt} /></dd>
          <dt>{t.changed}</dt><dd><When at={session.updatedAt} /></dd>
        </dl>
      </div>
    </section>
  )
}
