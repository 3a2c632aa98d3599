import { useState } from 'react'
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
import { type ChangedFile, usePlan } from './use-plan.ts'

/** A plan: what it would change, what was looked at, what its checks say, and what can be done. */
export function PlanTab ({ session, followed }: { readonly session: Session, readonly followed: Followed }) {
  const { plan, files, error, isWhole } = usePlan(session)
  const [chosen, setChosen] = useState<string>()
  const [seen, setSeen] = useState<ReadonlySet<string>>(new Set())
  const file = files.find(({ path }) => path === chosen) ?? files[0]
  // A file that has changed since was not seen as it is now.
  const isSeen = (each: ChangedFile) => seen.has(seenKey(each)) || (each === file && each.isCut !== true)
  const see = (each: ChangedFile) => { setSeen(before => new Set(before).add(seenKey(each))) }
  const choose = (path: string) => {
    if (file !== undefined && file.isCut !== true) see(file)
    setChosen(path)
  }
  const unseen = files.filter(each => !isSeen(each)).length
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
                onSeen={() => { see(file) }}
                                     />}
              <PlanTalk session={session} followed={followed} />
            </div>
          </div>
        </>
      )}
    </Loaded>
  )
}

function seenKey ({ path, diff, bytes }: ChangedFile): string {
  return `${path}\0${bytes}\0${diff}`
}
