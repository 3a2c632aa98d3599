import { useEffect, useMemo, useRef, useState } from 'react'
import { Windowed } from '../../parts/windowed.tsx'
import { t } from '../../text/text.ts'
import { countOf } from './diff-lines.ts'
import { treeRows } from './file-tree.ts'
import { type ChangedFile } from './use-plan.ts'

/** The height of a row, in px. */
const HEIGHT = 37

/** From how many files on the folders are folded at first, but for the outermost. */
const MANY = 100

/** A folder whose files the user wants to mark as looked at. */
interface Wanted { readonly name: string, readonly files: readonly ChangedFile[] }

/** Lists the files of a change below their folders, and shows which of them the user has looked at. A folder can be marked with all its files. */
export function FileList ({ files, chosen, isSeen, onChoose, onSeen }: {
  readonly files: readonly ChangedFile[]
  readonly chosen: string | undefined
  readonly isSeen: (file: ChangedFile) => boolean
  readonly onChoose: (path: string) => void
  readonly onSeen: (files: readonly ChangedFile[]) => void
}) {
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set())
  const [wanted, setWanted] = useState<Wanted>()
  const rows = useMemo(() => treeRows(files, (path, depth) => (files.length > MANY && depth > 0) !== turned.has(path)), [files, turned])
  const fold = (path: string) => { setTurned(before => before.has(path) ? new Set([...before].filter(each => each !== path)) : new Set(before).add(path)) }
  const row = (index: number) => {
    const each = rows[index] as typeof rows[number]
    return each.kind === 'file'
      ? <FileRow key={index} {...each} isHere={each.file.path === chosen} isSeen={isSeen(each.file)} onChoose={onChoose} />
      : <FolderRow key={index} {...each} isSeen={isSeen} onFold={fold} onWant={setWanted} />
  }
  return (
    <section className='panel'>
      <header><h2>{t.files}</h2><span className='grow' /><span className='quiet num'>{files.length}</span></header>
      {wanted !== undefined && (
        <Surely
          {...wanted}
          onDone={isSure => {
            if (isSure) onSeen(wanted.files)
            setWanted(undefined)
          }}
        />
      )}
      <div className='files' role='list' data-scrolls><Windowed count={rows.length} height={HEIGHT} row={row} /></div>
    </section>
  )
}

function FileRow ({ file: { path, diff, kind, isCut }, name, depth, isHere, isSeen, onChoose }: {
  readonly file: ChangedFile
  readonly name: string
  readonly depth: number
  readonly isHere: boolean
  readonly isSeen: boolean
  readonly onChoose: (path: string) => void
}) {
  const { added, removed } = countOf(diff)
  const more = isCut === true ? '…' : ''
  return (
    <div role='listitem'>
      <button
        type='button'
        className={`file${isHere ? ' here' : ''}`}
        aria-current={isHere}
        title={path}
        onClick={() => { onChoose(path) }}
      >
        <Indent depth={depth} />
        <span className='grow mono wrap'>{name}</span>
        <span className='quiet num'>{added > 0 && `+${added}${more}`} {removed > 0 && `−${removed}${more}`}</span>
        <span className={isSeen ? 'chip good' : kind.startsWith('DELETE') ? 'chip bad' : 'chip'}>{isSeen ? t.seen : t.changeKind(kind)}</span>
      </button>
    </div>
  )
}

function FolderRow ({ path, name, depth, files, isFolded, isSeen, onFold, onWant }: {
  readonly path: string
  readonly name: string
  readonly depth: number
  readonly files: readonly ChangedFile[]
  readonly isFolded: boolean
  readonly isSeen: (file: ChangedFile) => boolean
  readonly onFold: (path: string) => void
  readonly onWant: (wanted: Wanted) => void
}) {
  const left = files.filter(file => !isSeen(file))
  const words = path === '' ? t.allFiles : `${name}/`
  return (
    <div role='listitem' className='folder row'>
      <button type='button' className='file' aria-expanded={!isFolded} onClick={() => { onFold(path) }}>
        <Indent depth={depth} />
        <span className='fold' aria-hidden='true'>›</span>
        <span className='grow mono wrap'>{words}</span>
        <span className='quiet num'>{t.foundOf(files.length - left.length, files.length)}</span>
      </button>
      {left.length === 0
        ? <span className='chip good'>{t.seen}</span>
        : (
          <button type='button' className='button plain small' aria-label={t.markFolder(words)} onClick={() => { onWant({ name: words, files: left }) }}>
            {t.seenMark}…
          </button>
          )}
    </div>
  )
}

function Indent ({ depth }: { readonly depth: number }) {
  return depth === 0 ? null : <span style={{ width: 12 * depth }} className='indent' />
}

/** Asks before files are marked that were not opened. Nothing is marked by a single key. */
function Surely ({ name, files, onDone }: Wanted & { readonly onDone: (isSure: boolean) => void }) {
  const no = useRef<HTMLButtonElement>(null)
  useEffect(() => { no.current?.focus() }, [])
  const words = t.markSurely(files.length, name)
  return (
    <div className='second' role='group' aria-label={words}>
      <span className='grow'>{words}</span>
      <button type='button' className='button' onClick={() => { onDone(true) }}>{t.markFiles(files.length)}</button>
      <button ref={no} type='button' className='button' onClick={() => { onDone(false) }}>{t.no}</button>
    </div>
  )
}
