import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useCaller, useMay } from '../api/caller.ts'
import { FIRST_PROMPTS, FIRST_ROWS } from '../api/first-prompts.ts'
import { listPrompts, type PromptRow, words } from '../api/listings.ts'
import { authorScreens } from '../frame/parts.ts'
import { CopyButton } from '../parts/copy-button.tsx'
import { Choice, Filters } from '../parts/filters.tsx'
import { Icon } from '../parts/icons.tsx'
import { lazyPart } from '../parts/lazy-part.tsx'
import { Loaded } from '../parts/loading.tsx'
import { MoreButton } from '../parts/more-button.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { keep, session } from '../parts/storage.ts'
import { Table } from '../parts/table.tsx'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { type Folder, foldersOf, foldRows, type Order } from './folders.ts'

const FILE = '# templates/team/greet.yaml\nmessages:\n  - role: user\n    content: |-\n      Say hello to {{variables.name}}.'
const REDIS = "redis-cli SET shenma:templates:team:greet \\\n  '{\"userPrompt\": \"Say hello to {{variables.name}}.\"}'"

/** Shows three ways to publish a first prompt, each with a button that copies it. */
function FirstPrompts () {
  const body = '{"userPrompt": "Say hello to {{variables.name}}."}'
  const http = `curl -X PUT ${location.origin}/api/prompts/team.greet \\\n  -H 'content-type: application/json' \\\n  -d '${body}'`
  const ways = [
    { title: t.asFile, text: FILE, hint: t.asFileHint },
    { title: t.inRedis, text: REDIS, hint: t.inRedisHint },
    { title: t.overHttp, text: http, hint: t.overHttpHint }
  ]
  return (
    <div className='thirds'>
      {ways.map(({ title, text, hint }) => (
        <section key={title} className='panel'>
          <header><h2>{title}</h2><span className='grow' /><CopyButton text={text} /></header>
          <div className='body'><pre className='text'>{text}</pre><p className='hint'>{hint}</p></div>
        </section>
      ))}
    </div>
  )
}

const NewPrompt = lazyPart(async () => (await authorScreens()).NewPrompt)
const PromptActions = lazyPart(async () => (await authorScreens()).PromptActions)

/** The largest number of labels that one row shows. */
const MOST_LABELS = 3

/**
 * The page with the list of prompts. It shows the first rows as soon as they have come, and then loads all rows, so that the filter finds
 * each prompt.
 */
export function PromptsPage () {
  const first = useQuery(FIRST_PROMPTS)
  const all = useQuery({ queryKey: ['registry', 'prompts'], queryFn: listPrompts, enabled: first.data !== undefined })
  const mayWrite = useMay('write')
  const [isNew, setNew] = useState(false)
  const wrong = (all.data ?? first.data ?? []).filter(({ state }) => state !== 'valid').length
  const isEmpty = all.data?.length === 0
  const note = all.data === undefined ? undefined : isEmpty ? t.promptsEmpty : t.promptsServed(all.data.length - wrong, wrong)
  return (
    <>
      <PageTitle title={t.prompts} note={note}>
        {mayWrite && <button type='button' className='button primary' onClick={() => { setNew(true) }}><Icon name='plus' />{t.newPrompt}</button>}
      </PageTitle>
      {isNew && <NewPrompt onClose={() => { setNew(false) }} />}
      {isEmpty
        ? <FirstPrompts />
        : <Loaded query={all.data === undefined ? first : all}>{loaded => <PromptTable rows={loaded} isWhole={all.data !== undefined} />}</Loaded>}
    </>
  )
}

const ORDERS: readonly Order[] = ['name', 'changed', 'problems']

/** @param isWhole whether these are all rows, so that they can be counted */
function PromptTable ({ rows, isWhole }: { readonly rows: readonly PromptRow[], readonly isWhole: boolean }) {
  const [search, setSearch] = useSearchParams()
  const [, go] = useLocation()
  const [most, setMost] = useState(FIRST_ROWS)
  const [acted, setActed] = useState<string>()
  const mayWrite = useMay('write')
  const [q, state, syntax] = [search.get('q') ?? '', search.get('state') ?? '', search.get('syntax') ?? '']
  const order = ORDERS.find(each => each === search.get('sort')) ?? 'name'
  const [closed, setClosed] = useClosed()
  const found = useMemo(() => rows.filter(row => fits(row, q.toLowerCase(), state, syntax)), [rows, q, state, syntax])
  // Whoever filters wants to see what fits, in whatever folder it is.
  const isFiltered = q !== '' || state !== ''
  const lines = useMemo(() => foldRows(found, order, folder => !isFiltered && closed.has(folder)), [found, order, closed, isFiltered])
  const folders = useMemo(() => foldersOf(found), [found])
  const places = lines.flatMap((line, index) => 'row' in line ? [index] : [])
  const shown = lines.slice(0, places.length > most ? places[most] : lines.length)
  const changed = useChanged(rows)
  const set = (name: string, value: string) => {
    setMost(FIRST_ROWS)
    setSearch(before => {
      const next = new URLSearchParams(before)
      if (value === '') next.delete(name)
      else next.set(name, value)
      return next
    }, { replace: true })
  }
  const isAllClosed = folders.every(folder => closed.has(folder))
  return (
    <>
      <Filters
        label={t.filterPrompts}
        value={q}
        onChange={value => { set('q', value) }}
        onEnter={() => { if (found[0] !== undefined) go(`/prompts/${encodeURIComponent(found[0].id)}`) }}
        count={[Math.min(most, places.length), found.length]}
      >
        <Choice
          label={t.language} value={syntax} onChange={value => { set('syntax', value) }}
          options={[['', t.everyLanguage], ['handlebars', 'Handlebars'], ['go', 'Go']]}
        />
        <Choice
          label={t.state} value={state} onChange={value => { set('state', value) }}
          options={[['', t.everyState], ['valid', t.stateServed], ['wrong', t.stateProblem]]}
        />
        <Choice
          label={t.sortedBy} value={order} onChange={value => { set('sort', value === 'name' ? '' : value) }}
          options={[['name', t.sortByName], ['changed', t.sortByChange], ['problems', t.sortByProblem]]}
        />
        {!isFiltered && folders.length > 0 && (
          <button type='button' className='button plain' onClick={() => { setClosed(new Set(isAllClosed ? [] : folders)) }}>
            {isAllClosed ? t.openFolders : t.closeFolders}
          </button>
        )}
      </Filters>
      {found.length === 0
        ? <p className='quiet'>{t.nothingFits}</p>
        : (
          <Table
            columns={[
              t.prompt, [t.description, 'wide'], t.state, [t.language, 'wide'], [t.from, 'wide'], [t.changed, 'wide'], [t.by, 'wide'], ...mayWrite ? [''] : []
            ]}
          >
            {shown.map(line => 'row' in line
              ? (
                <Row key={line.row.id} line={line} isChanged={changed.has(line.row.id)} onAct={mayWrite ? () => { setActed(line.row.id) } : undefined} />
                )
              : (
                <FolderRow
                  key={line.folder}
                  folder={line}
                  isWhole={isWhole}
                  columns={mayWrite ? 8 : 7}
                  onToggle={() => { setClosed(toggled(closed, line.folder)) }}
                />
                ))}
          </Table>
          )}
      {places.length > most && <MoreButton onPress={() => { setMost(most + 4 * FIRST_ROWS) }} />}
      {acted !== undefined && <PromptActions id={acted} onClose={() => { setActed(undefined) }} />}
    </>
  )
}

/** The folders that are closed, in this tab of the browser. */
function useClosed () {
  const [closed, setClosed] = useState<ReadonlySet<string>>(() => new Set(JSON.parse(session.getItem(CLOSED) ?? '[]') as string[]))
  const change = (next: ReadonlySet<string>) => {
    keep(session, CLOSED, JSON.stringify([...next]))
    setClosed(next)
  }
  return [closed, change] as const
}

const CLOSED = 'prompt-shell.closed'

function toggled (closed: ReadonlySet<string>, folder: string): ReadonlySet<string> {
  return closed.has(folder) ? new Set([...closed].filter(each => each !== folder)) : new Set([...closed, folder])
}

function FolderRow ({ folder: { folder, depth, said, count, wrong, isOpen }, isWhole, columns, onToggle }: {
  readonly folder: Folder
  readonly isWhole: boolean
  readonly columns: number
  readonly onToggle: () => void
}) {
  const name = folder.slice(0, -1)
  return (
    <tr className='folder'>
      <td colSpan={columns}>
        <span className='row' data-depth={Math.min(depth, DEEPEST)}>
          <button type='button' className='button plain small' aria-expanded={isOpen} aria-label={t.folderOf(name)} onClick={onToggle}>
            <span className='fold' aria-hidden='true'>›</span>
            <Revealed text={name.slice(said)} />
          </button>
          {isWhole && <span className='quiet num'>{count}</span>}
          {isWhole && wrong > 0 && <span className='chip bad'>{t.folderProblems(wrong)}</span>}
        </span>
      </td>
    </tr>
  )
}

/** The deepest folder that is drawn deeper than the one above it. */
const DEEPEST = 5

const LANGUAGES: Readonly<Record<string, string>> = { go: 'Go', handlebars: 'Handlebars' }

function Row ({ line: { row, depth, said }, isChanged, onAct }: {
  readonly line: { readonly row: PromptRow, readonly depth: number, readonly said: number }
  readonly isChanged: boolean
  readonly onAct: (() => void) | undefined
}) {
  const { id, description, syntax = '', origin, updatedAt, by } = row
  return (
    <tr className={isChanged ? 'changed' : undefined}>
      <td data-depth={Math.min(depth, DEEPEST)}>
        <Link href={`/prompts/${encodeURIComponent(id)}`} {...(said > 0 ? { title: id, 'aria-label': id } : {})} data-row>
          <Revealed text={id.slice(said)} />
        </Link>
      </td>
      <td className='wide quiet cut limited' title={words(description)}><Revealed text={words(description)} /></td>
      <td><PromptState row={row} /></td>
      <td className='wide quiet'>{LANGUAGES[syntax]}</td>
      <td className='wide quiet nowrap'>{origin === 'extension' ? t.fromExtension : t.fromKey}</td>
      <td className='wide quiet'><When at={updatedAt} /></td>
      <td className='wide quiet'>{by}</td>
      {onAct !== undefined && (
        <td className='right'>
          <button type='button' className='button plain small' aria-label={t.actionsOn(id)} title={t.actions} onClick={onAct}>⋯</button>
        </td>
      )}
    </tr>
  )
}

/**
 * Shows which version of a prompt callers get: the versions that its labels mean, or the latest, and whether those without a label get
 * something else than those of `production`. For a prompt with a mistake, it shows the state first.
 */
function PromptState ({ row: { state, labels = [] } }: { readonly row: PromptRow }) {
  const caller = useCaller()
  const served = caller?.serve ?? caller?.defaultLabel ?? 'production'
  const behind = labels.filter(({ label, isLatest }) => label === served && !isLatest)
  return (
    <span className='chips'>
      {state !== 'valid' && <span className='chip bad'>{t.entryState(state)}</span>}
      {state === 'valid' && labels.length === 0 && <span className='chip'>latest</span>}
      {labels.slice(0, MOST_LABELS).map(({ label, version, weight }) => (
        <span key={`${label} ${version}`} className={label === 'production' ? 'chip accent num' : 'chip num'}>
          {label} {version}{weight < 100 && ` · ${weight} %`}
        </span>
      ))}
      {labels.length > MOST_LABELS && <span className='quiet num'>+{labels.length - MOST_LABELS}</span>}
      {behind.length > 0 && <span className='chip warn' title={t.latestIsNotWhy(served)}>{t.latestIsNot(served)}</span>}
    </span>
  )
}

function fits ({ id, description, state: is, syntax: spoken }: PromptRow, q: string, state: string, syntax: string): boolean {
  const isNamed = q === '' || id.toLowerCase().includes(q) || words(description).toLowerCase().includes(q)
  return isNamed && (state === '' || (is === 'valid') === (state === 'valid')) && (syntax === '' || spoken === syntax)
}

/** The ids of the prompts whose rows have just changed. An id stays in the set for 3 s. */
function useChanged (rows: readonly PromptRow[]): ReadonlySet<string> {
  const before = useRef<ReadonlyMap<string, string>>(undefined)
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const now = new Map(rows.map(({ id, revision }) => [id, revision]))
    const known = before.current
    before.current = now
    // If many rows have come or gone, the whole list has replaced its first page, and no prompt has changed.
    if (known === undefined || Math.abs(known.size - now.size) > 10) return
    const differ = new Set([...now].filter(([id, revision]) => known.get(id) !== revision).map(([id]) => id))
    if (differ.size === 0) return
    setChanged(differ)
    const timer = setTimeout(() => { setChanged(new Set()) }, 3000)
    return () => { clearTimeout(timer) }
  }, [rows])
  return changed
}
