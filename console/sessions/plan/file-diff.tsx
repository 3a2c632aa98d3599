import { useQuery } from '@tanstack/react-query'
import { type ClipboardEvent, type KeyboardEvent, type ReactNode, useEffect, useMemo, useState } from 'react'
import { api, take } from '../../api/client.ts'
import { CopyButton } from '../../parts/copy-button.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { lazyPart } from '../../parts/lazy-part.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { bytes, number } from '../../parts/time.ts'
import { Windowed } from '../../parts/windowed.tsx'
import { t } from '../../text/text.ts'
import { type DiffLine, hunksOf, marksOf, type Row, rowsOf, rowsWith, textBetween } from './diff-lines.ts'
import type { ChangedFile } from './use-plan.ts'

const Difference = lazyPart(async () => (await import('../../edit/difference.tsx')).Difference)

/**
 * Shows the change of one file as a diff or, if the user asks for it, as two texts side by side. A note says if something could not be shown.
 * @param onSeen called once all of the diff is on the page, and by its button
 */
export function FileDiff ({ id, file, isSeen, onSeen }: {
  readonly id: string
  readonly file: ChangedFile
  readonly isSeen: boolean
  readonly onSeen: (file: ChangedFile) => void
}) {
  const [isWide, setWide] = useState(false)
  const { path, isOutdated, kind } = file
  const { diff, isCut, isLoading, error } = useWhole(id, file)
  const isWhole = !isCut && error === null
  useEffect(() => { if (isWhole && !isSeen) onSeen(file) }, [isWhole, isSeen, onSeen, file])
  return (
    <section className='panel'>
      <header className='wrap-row'>
        <span className='mono grow wrap'>{path}</span>
        <span className='chip'>{t.changeKind(kind)}</span>
        <span className='quiet num'>{bytes(file.bytes)}</span>
        {diff !== '' && <CopyButton text={diff} label={t.copy} />}
        <button
          type='button'
          className='button small'
          aria-pressed={isWide}
          onClick={() => { setWide(!isWide) }}
        >
          {t.sideBySide}
        </button>
        <button
          type='button'
          className='button small'
          disabled={isSeen}
          onClick={() => { onSeen(file) }}
        >
          {t.seenMark}
        </button>
      </header>
      {isOutdated === true && <p className='note warn'>{t.fileOutdated}</p>}
      {error !== null && <ErrorNote error={error} />}
      {isCut && !isWide && <p className='note warn'>{isLoading ? t.loading : t.diffCut}</p>}
      {isWide
        ? <Sides id={id} path={path} />
        : diff === '' ? <p className='body quiet'>{t.noDiff}</p> : <Diff key={path} id={id} file={file} diff={diff} hasEnd={isWhole} />}
    </section>
  )
}

/** The whole diff of a file. The list of files has only the beginning of a long one. */
function useWhole (id: string, { path, before, after, diff, isCut }: ChangedFile) {
  const query = useQuery({
    queryKey: ['plan', id, 'diff', path, before, after],
    queryFn: () => readText(id, path, 'diff'),
    enabled: isCut === true
  })
  const whole = query.data?.text
  return { diff: whole ?? diff, isCut: isCut === true && (whole === undefined || query.data?.isCut === true), isLoading: query.isLoading, error: query.error }
}

async function readText (id: string, path: string, side: 'before' | 'after' | 'diff') {
  const wish = { params: { path: { id }, query: { path, side } } }
  return await take(api.GET('/api/plans/{id}/preview', wish)) as { readonly text?: string, readonly isCut?: boolean }
}

function Sides ({ id, path }: { readonly id: string, readonly path: string }) {
  const query = useQuery({
    queryKey: ['plan', id, 'sides', path],
    queryFn: () => Promise.all([readText(id, path, 'before'), readText(id, path, 'after')])
  })
  if (query.error !== null) return <ErrorNote error={query.error} onRetry={() => { void query.refetch() }} />
  if (query.data === undefined) return <p className='body quiet'>{t.loading}</p>
  const [before, after] = query.data
  return (
    <>
      {(before.isCut === true || after.isCut === true) && <p className='note warn'>{t.sideCut}</p>}
      <Difference before={before.text ?? ''} after={after.text ?? ''} labels={[t.before, t.after]} />
    </>
  )
}

/** How many lines a press shows of those that are between two hunks. */
const STEP = 20

/** From how many rows on a diff can be searched: fewer are all on the page, and so are found by the browser. */
const SEARCHED = 50

/** The height of a row that takes one line, in px. */
const HEIGHT = 20

/**
 * Shows a diff in hunks, with signs, line numbers and marks on the changed words. Long lines are wrapped and never cut, and hidden characters
 * are made visible.
 * @param hasEnd whether the diff is whole, so that the lines after its last hunk can be shown
 */
function Diff ({ id, file: { path, before, after }, diff, hasEnd }: {
  readonly id: string
  readonly file: ChangedFile
  readonly diff: string
  readonly hasEnd: boolean
}) {
  const [opened, setOpened] = useState<ReadonlyMap<number, number>>(new Map())
  const text = useQuery({ queryKey: ['plan', id, 'after', path, after], queryFn: () => readText(id, path, 'after'), enabled: opened.size > 0 })
  const texts = useMemo(() => text.data?.text?.replace(/\n$/, '').split('\n'), [text.data])
  const hunks = useMemo(() => hunksOf(diff), [diff])
  const isUpdate = before !== null && after !== null
  const rows = useMemo(() => rowsOf(hunks, opened, texts, isUpdate && hasEnd && diff.includes('\n@@ ')), [hunks, opened, texts, isUpdate, hasEnd, diff])
  const [target, setTarget] = useState<Found>()
  const open = (gap: number, count: number) => { setOpened(before => new Map(before).set(gap, (before.get(gap) ?? 0) + count)) }
  return (
    <>
      {rows.length > SEARCHED && <Search rows={rows} onFound={setTarget} />}
      {text.error !== null && <ErrorNote error={text.error} />}
      {text.data?.isCut === true && <p className='note warn'>{t.sideCut}</p>}
      <div
        className='diff'
        tabIndex={0}
        role='region'
        aria-label={path}
        onCopy={event => { copyLines(event, rows) }}
      >
        <Windowed
          count={rows.length}
          height={HEIGHT}
          target={target?.row}
          wish={target?.wish}
          row={index => <DiffRow key={index} index={index} row={rows[index] as Row} isFound={index === target?.row} onOpen={open} />}
        />
      </div>
    </>
  )
}

function DiffRow ({ row, index, isFound, onOpen }: {
  readonly row: Row
  readonly index: number
  readonly isFound: boolean
  readonly onOpen: (gap: number, count: number) => void
}) {
  if (row.kind === 'gap') {
    const { gap, title, count } = row
    return (
      <div className='hunk' data-row={index}>
        <i />
        <span className='row wrap-row'>
          {(count === undefined || count > STEP) && (
            <button type='button' className='button plain small' onClick={() => { onOpen(gap, STEP) }}>{t.showLines(STEP)}</button>
          )}
          {count !== undefined && (
            <button type='button' className='button plain small' onClick={() => { onOpen(gap, count) }}>{t.showAllLines(number(count))}</button>
          )}
          {title}
        </span>
      </div>
    )
  }
  const { line: { kind, before, after }, from } = row
  if (kind === 'note') return <div className='hunk' data-row={index}><i /><span><Revealed text={row.line.text} /></span></div>
  return (
    <div className={`${kind === 'same' ? '' : kind}${isFound ? ' found' : ''}`} data-row={index}>
      <i>{from === 0 && before}</i>
      <i>{from === 0 && after}</i>
      <b aria-label={kind === 'add' ? t.added : kind === 'del' ? t.removed : undefined} role={kind === 'same' ? undefined : 'img'}>
        {kind === 'add' ? '+' : kind === 'del' ? '−' : ''}
      </b>
      <span><Words line={row.line} from={from} to={row.to} /></span>
    </div>
  )
}

/** Shows a line, or a part of it, with marks on its changed words. */
function Words ({ line, from, to }: { readonly line: DiffLine, readonly from: number, readonly to: number }) {
  const Changed = line.kind === 'add' ? 'ins' : 'del'
  const parts: ReactNode[] = []
  let at = from
  for (const mark of marksOf(line)) {
    const [start, end] = [Math.max(from, mark.from), Math.min(to, mark.to)]
    if (end <= start) continue
    parts.push(<Revealed key={at} text={line.text.slice(at, start)} />)
    parts.push(<Changed key={`${at} mark`}><mark><Revealed text={line.text.slice(start, end)} /></mark></Changed>)
    at = end
  }
  return <>{parts}<Revealed text={line.text.slice(at, to)} /></>
}

/** The row that was found, and what was asked for. */
interface Found { readonly row: number, readonly wish: string }

/** Searches the rows of a long diff: the browser's own search finds only what is near the screen. */
function Search ({ rows, onFound }: { readonly rows: readonly Row[], readonly onFound: (found: Found | undefined) => void }) {
  const [words, setWords] = useState('')
  const [at, setAt] = useState(0)
  const found = useMemo(() => words === '' ? [] : rowsWith(rows, words), [rows, words])
  const current = found[at % Math.max(1, found.length)]
  useEffect(() => { onFound(current === undefined ? undefined : { row: current, wish: `${at} ${words}` }) }, [current, at, words, onFound])
  const press = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || found.length === 0) return
    event.preventDefault()
    setAt((at + (event.shiftKey ? found.length - 1 : 1)) % found.length)
  }
  return (
    <div className='foot row'>
      <input
        type='search'
        className='field grow'
        aria-label={t.findInDiff}
        placeholder={t.findInDiff}
        title={t.findInDiffHint}
        value={words}
        onChange={event => {
          setWords(event.target.value)
          setAt(0)
        }}
        onKeyDown={press}
      />
      <span className='quiet num' role='status'>{words !== '' && t.foundOf(found.length === 0 ? 0 : at % found.length + 1, found.length)}</span>
    </div>
  )
}

/** Copies whole rows as the text of their lines, also those that are not on the page. What is selected within a row is copied as it is. */
function copyLines (event: ClipboardEvent, rows: readonly Row[]): void {
  const range = document.getSelection()?.getRangeAt(0)
  const [first, last] = [placeOf(range?.startContainer), placeOf(range?.endContainer)]
  if (first === undefined || last === undefined || first === last) return
  event.preventDefault()
  // A range that ends at the beginning of a row has nothing of it.
  event.clipboardData.setData('text/plain', textBetween(rows, first, range?.endOffset === 0 ? last - 1 : last))
}

function placeOf (node: Node | undefined): number | undefined {
  const element = node instanceof Element ? node : node?.parentElement
  const place = element?.closest<HTMLElement>('.diff [data-row], .diff [data-from]')
  return place === null || place === undefined ? undefined : Number(place.dataset['row'] ?? place.dataset['from'])
}
