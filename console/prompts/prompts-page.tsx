import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState } from 'react'
import { Link, useLocation, useSearchParams } from 'wouter'
import { useMay } from '../api/caller.ts'
import { api, takePage } from '../api/client.ts'
import { listPrompts, type PromptRow, words } from '../api/listings.ts'
import { Icon } from '../parts/icons.tsx'
import { Loaded } from '../parts/loading.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { Revealed } from '../parts/reveal.tsx'
import { number } from '../parts/time.ts'
import { When } from '../parts/when.tsx'
import { t } from '../text/text.ts'
import { FirstPrompts } from './first-prompts.tsx'
import { NewPrompt } from './new-prompt.tsx'

/** Rows that are shown at first, and more at each wish. */
const ROWS = 50

/** The list of prompts: the first page as soon as it comes, then all, for the filter. */
export function PromptsPage () {
  const first = useQuery({ queryKey: ['registry', 'prompts', 'first'], queryFn: async () => (await takePage<PromptRow>(api.GET('/api/prompts', { params: { query: { detail: true, limit: ROWS } } }))).rows })
  const all = useQuery({ queryKey: ['registry', 'prompts'], queryFn: listPrompts, enabled: first.data !== undefined })
  const mayWrite = useMay('write')
  const [isNew, setNew] = useState(false)
  const rows = all.data ?? first.data
  const wrong = (rows ?? []).filter(({ state }) => state !== 'valid').length
  const isEmpty = all.data?.length === 0
  return (
    <>
      <PageTitle title={t.prompts} note={all.data === undefined ? undefined : isEmpty ? t.promptsEmpty : t.promptsServed(all.data.length - wrong, wrong)}>
        {mayWrite && <button type='button' className='button primary' onClick={() => { setNew(true) }}><Icon name='plus' />{t.newPrompt}</button>}
      </PageTitle>
      {isNew && <NewPrompt onClose={() => { setNew(false) }} />}
      {isEmpty ? <FirstPrompts /> : <Loaded query={all.data === undefined ? first : all}>{loaded => <PromptTable rows={loaded} />}</Loaded>}
    </>
  )
}

function PromptTable ({ rows }: { readonly rows: readonly PromptRow[] }) {
  const [search, setSearch] = useSearchParams()
  const [, go] = useLocation()
  const [most, setMost] = useState(ROWS)
  const [q, state, syntax] = [search.get('q') ?? '', search.get('state') ?? '', search.get('syntax') ?? '']
  const found = useMemo(() => rows.filter(row => fits(row, q.toLowerCase(), state, syntax)), [rows, q, state, syntax])
  const changed = useChanged(rows)
  const set = (name: string, value: string) => {
    setMost(ROWS)
    setSearch(before => { const next = new URLSearchParams(before); if (value === '') next.delete(name); else next.set(name, value); return next }, { replace: true })
  }
  return (
    <>
      <div className='filters'>
        <div className='filter'>
          <input
            className='field'
            placeholder={t.filterPrompts}
            aria-label={t.filterPrompts}
            value={q}
            onChange={event => { set('q', event.target.value) }}
            onKeyDown={event => { if (event.key === 'Enter' && found[0] !== undefined) go(`/prompts/${encodeURIComponent(found[0].id)}`) }}
          />
        </div>
        <select
          className='field auto'
          aria-label={t.language}
          value={syntax}
          onChange={event => { set('syntax', event.target.value) }}
        >
          <option value=''>{t.everyLanguage}</option>
          <option value='handlebars'>Handlebars</option>
          <option value='go'>Go</option>
        </select>
        <select
          className='field auto'
          aria-label={t.state}
          value={state}
          onChange={event => { set('state', event.target.value) }}
        >
          <option value=''>{t.everyState}</option>
          <option value='valid'>{t.stateServed}</option>
          <option value='wrong'>{t.stateProblem}</option>
        </select>
        <span className='grow' />
        <span className='quiet num' role='status'>{t.rowsOf(Math.min(most, found.length), number(found.length))}</span>
      </div>
      {found.length === 0
        ? <p className='quiet'>{t.nothingFits}</p>
        : (
          <div className='panel'>
            <table>
              <thead><tr><th scope='col'>{t.prompt}</th><th scope='col' className='wide'>{t.description}</th><th scope='col'>{t.state}</th><th scope='col' className='wide'>{t.language}</th><th scope='col' className='wide'>{t.from}</th><th scope='col' className='wide'>{t.changed}</th><th scope='col' className='wide'>{t.by}</th></tr></thead>
              <tbody>
                {found.slice(0, most).map(row => (
                  <tr key={row.id} className={changed.has(row.id) ? 'changed' : undefined}>
                    <td><Link href={`/prompts/${encodeURIComponent(row.id)}`} data-row><Revealed text={row.id} /></Link></td>
                    <td className='wide quiet cut limited' title={words(row.description)}><Revealed text={words(row.description)} /></td>
                    <td>{row.state === 'valid' ? <span className='chip'>latest</span> : <span className='chip bad'>{t.entryState(row.state)}</span>}</td>
                    <td className='wide quiet'>{row.syntax === 'go' ? 'Go' : row.syntax === 'handlebars' ? 'Handlebars' : ''}</td>
                    <td className='wide quiet'>{row.origin === 'extension' ? t.fromExtension : t.fromKey}</td>
                    <td className='wide quiet'><When at={row.updatedAt} /></td>
                    <td className='wide quiet'>{row.by}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          )}
      {found.length > most && <p className='after'><button type='button' className='button' onClick={() => { setMost(most + 4 * ROWS) }}>{t.showMore}</button></p>}
    </>
  )
}

function fits ({ id, description, state: is, syntax: spoken }: PromptRow, q: string, state: string, syntax: string): boolean {
  return (q === '' || id.toLowerCase().includes(q) || words(description).toLowerCase().includes(q)) && (state === '' || (is === 'valid') === (state === 'valid')) && (syntax === '' || spoken === syntax)
}

/** Rows that have changed since they were shown, for 3 s. */
function useChanged (rows: readonly PromptRow[]): ReadonlySet<string> {
  const before = useRef<ReadonlyMap<string, string>>(undefined)
  const [changed, setChanged] = useState<ReadonlySet<string>>(new Set())
  useEffect(() => {
    const now = new Map(rows.map(({ id, revision }) => [id, revision]))
    const known = before.current
    before.current = now
    // A first page that has grown to the whole list has not changed.
    if (known === undefined || Math.abs(known.size - now.size) > 10) return
    const differ = new Set([...now].filter(([id, revision]) => known.get(id) !== revision).map(([id]) => id))
    if (differ.size === 0) return
    setChanged(differ)
    const timer = setTimeout(() => { setChanged(new Set()) }, 3000)
    return () => { clearTimeout(timer) }
  }, [rows])
  return changed
}
