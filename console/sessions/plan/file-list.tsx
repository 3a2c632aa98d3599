import { t } from '../../text/text.ts'
import { countOf } from './diff-lines.ts'
import { type ChangedFile } from './use-plan.ts'

/** The largest number of files that are listed. Further files of the change are not listed. */
const MOST = 1000

/** Lists the files of a change, and shows which of them the user has looked at. */
export function FileList ({ files, chosen, isSeen, onChoose }: {
  readonly files: readonly ChangedFile[]
  readonly chosen: string | undefined
  readonly isSeen: (file: ChangedFile) => boolean
  readonly onChoose: (path: string) => void
}) {
  return (
    <section className='panel'>
      <header><h2>{t.files}</h2><span className='grow' /><span className='quiet num'>{files.length}</span></header>
      <ul className='files'>
        {files.slice(0, MOST).map(file => {
          const { added, removed } = countOf(file.diff)
          return (
            <li key={file.path}>
              <button
                type='button'
                className={`file${file.path === chosen ? ' here' : ''}`}
                aria-current={file.path === chosen}
                onClick={() => { onChoose(file.path) }}
              >
                <span className='grow mono wrap'>{file.path}</span>
                <span className='quiet num'>{added > 0 && `+${added}`} {removed > 0 && `−${removed}`}</span>
                <span className={isSeen(file) ? 'chip good' : file.kind.startsWith('DELETE') ? 'chip bad' : 'chip'}>
                  {isSeen(file) ? t.seen : t.changeKind(file.kind)}
                </span>
              </button>
            </li>
          )
        })}
      </ul>
    </section>
  )
}
