import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { t } from '../../text/text.ts'
import { Composer } from '../composer.tsx'
import { type Followed, type Session } from '../follow/use-session.ts'
import { hasEnded } from '../words.ts'
import { api, take } from '../../api/client.ts'
import { Checks } from './checks.tsx'
import { FileDiff } from './file-diff.tsx'
import { FileList } from './file-list.tsx'
import { PlanActions } from './plan-actions.tsx'
import { PlanStages } from './plan-stages.tsx'
import { PlanTalk } from './plan-talk.tsx'
import { useLooked } from './use-looked.ts'
import { usePlan } from './use-plan.ts'

/** The tab of a plan: its change, which files the user has looked at, the results of the checks, and the buttons. */
export function PlanTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const { plan, files, error, isWhole } = usePlan(session)
  const { file, isSeen, see, choose, unseen } = useLooked(files)
  return (
    <Loaded query={plan}>
      {value => (
        <>
          <PlanStages
            plan={value}
            events={followed.events}
            seen={files.length - unseen}
            all={files.length}
          />
          <PlanActions
            session={session}
            plan={value}
            files={files}
            mayApply={isWhole && unseen === 0}
          />
          {value.error !== undefined && value.error !== '' && (
            <div className='note bad outage-below'>
              <span className='wrap'><b>{value.error_code}</b> <Revealed text={value.error} /></span>
            </div>
          )}
          {error !== null && <ErrorNote error={error} />}
          <div className='split list'>
            <div className='stack'>
              {files.length > 0 && <FileList
                files={files}
                chosen={file?.path}
                isSeen={isSeen}
                onChoose={choose}
                                   />}
              <Checks events={followed.events} />
              {session.status === 'waiting_input' && !hasEnded(session.status) && (
                <Composer
                  label={t.otherWords} send={text => take(api.POST('/api/plans/{id}/message', {
                    params: { path: { id: session.id } },
                    body: { text }
                  }))}
                />
              )}
            </div>
            <div className='stack'>
              {file !== undefined && <FileDiff
                id={session.id}
                file={file}
                isSeen={isSeen(file)}
                onSeen={see}
                                     />}
              <PlanTalk session={session} followed={followed} />
            </div>
          </div>
        </>
      )}
    </Loaded>
  )
}
