import { useEffect } from 'react'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import { FileDiff } from './file-diff.tsx'
import { FileList } from './file-list.tsx'
import { useLooked } from './use-looked.ts'
import { useChange } from './use-plan.ts'

/** Shows the files of a change that waits for approval, so that a person can decide without opening the session. @param digest of the change */
export function ChangeLook ({ id, digest, onLooked }: { readonly id: string, readonly digest: string, readonly onLooked: (isLooked: boolean) => void }) {
  const { files, error, isWhole } = useChange(id, digest, digest)
  const { file, isSeen, see, seeOne, choose, unseen } = useLooked(files)
  const isLooked = isWhole && unseen === 0
  useEffect(() => { onLooked(isLooked) }, [isLooked, onLooked])
  return (
    <>
      {error !== null && <><ErrorNote error={error} /><p className='note warn'>{t.previewFailed}</p></>}
      <FileList files={files} chosen={file?.path} isSeen={isSeen} onChoose={choose} onSeen={see} />
      {file !== undefined && <FileDiff id={id} file={file} isSeen={isSeen(file)} onSeen={seeOne} />}
    </>
  )
}
