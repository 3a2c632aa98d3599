import { useState } from 'react'
import { Link } from 'wouter'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { ErrorNote } from '../../parts/error-note.tsx'
import { t } from '../../text/text.ts'
import { VersionTests } from '../tests/version-tests.tsx'
import { type Meaning, type Releases, wordsOf } from './use-releases.ts'

/** The label that most callers use. The user has to type its name before it is moved. */
const TYPED = 'production'

/** The form that makes a label mean another version, for all callers or for a share of them. */
export function MoveLabel ({ id, releases, tag }: { readonly id: string, readonly releases: Releases, readonly tag: string | undefined }) {
  const newest = Math.max(...releases.versions.map(({ n }) => n))
  const [label, setLabel] = useState(Object.keys(releases.labels)[0] ?? TYPED)
  const [to, setTo] = useState(newest)
  const [share, setShare] = useState('100')
  const [note, setNote] = useState('')
  const [typed, setTyped] = useState('')
  const [error, setError] = useState<unknown>()
  const now = Object.hasOwn(releases.labels, label) ? releases.labels[label] : undefined
  const before = heaviest(now)
  const weight = Number(share)
  const isSplit = weight < 100
  const isShare = Number.isInteger(weight) && weight >= 1 && weight <= 100
  const isRight = /^[a-z][a-z0-9_-]{0,63}$/.test(label) && isShare && (!isSplit || (before !== undefined && before !== to))
  const move = async () => {
    setError(undefined)
    try {
      const version = isSplit ? [{ version: to, weight }, { version: before as number, weight: 100 - weight }] : to
      const header = tag === undefined ? {} : { 'if-match': tag }
      await take(api.PUT('/api/prompts/{id}/labels/{label}', { params: { path: { id, label }, header }, body: { version, ...(note === '' ? {} : { note }) } }))
      setNote('')
      setTyped('')
    } catch (failure) {
      setError(failure)
    } finally {
      await queries.invalidateQueries({ queryKey: ['registry', 'releases', id] })
    }
  }
  return (
    <form className='panel' onSubmit={event => { event.preventDefault(); void move() }}>
      <header><h2>{t.moveLabel}</h2><span className='grow' />{label === TYPED && <span className='chip warn'>{t.protected}</span>}</header>
      <div className='body stack'>
        <div>
          <label htmlFor='label'>{t.label}</label>
          <input
            id='label'
            className='field mono'
            list='labels'
            value={label}
            required
            spellCheck={false}
            onChange={event => { setLabel(event.target.value) }}
          />
          <datalist id='labels'>{Object.keys(releases.labels).map(each => <option key={each} value={each} />)}</datalist>
        </div>
        <p>{t.from} <b className='num'>{wordsOf(now)}</b></p>
        <div>
          <label htmlFor='to'>{t.to}</label>
          <select id='to' className='field num' value={to} onChange={event => { setTo(Number(event.target.value)) }}>
            {releases.versions.map(({ n, note: words }) => <option key={n} value={n}>{n}{words !== undefined && ` · ${words.slice(0, 40)}`}</option>)}
          </select>
        </div>
        <div>
          <label htmlFor='share'>{t.share} <span className='quiet'>{before === undefined ? '' : t.restGoes(before)}</span></label>
          <input
            id='share'
            className='field num'
            inputMode='numeric'
            value={share}
            disabled={before === undefined}
            onChange={event => { setShare(event.target.value) }}
          />
        </div>
        <div>
          <label htmlFor='note'>{t.note}</label>
          <input id='note' className='field' value={note} maxLength={500} onChange={event => { setNote(event.target.value) }} />
        </div>
        {label === TYPED && (
          <div>
            <label htmlFor='typed'>{t.typeToConfirm} <code>{label}</code></label>
            <input id='typed' className='field mono' autoComplete='off' spellCheck={false} value={typed} onChange={event => { setTyped(event.target.value) }} />
          </div>
        )}
        <VersionTests id={id} version={to} />
        {error !== undefined && <ErrorNote error={error} />}
        <div className='row wrap-row'>
          <button className='button primary' disabled={!isRight || (label === TYPED && typed !== label)}>{t.moveTo(to)}</button>
          {before !== undefined && before !== to && <Link href={`/prompts/${encodeURIComponent(id)}?tab=compare&a=${before}&b=${to}`}>{t.whatChanges}</Link>}
        </div>
      </div>
    </form>
  )
}

/** The version that the most callers of a label get; `undefined` for a label that does not exist yet. */
function heaviest (meaning: Meaning | undefined): number | undefined {
  if (meaning === undefined || typeof meaning === 'number') return meaning
  return [...meaning].sort((a, b) => b.weight - a.weight)[0]?.version
}
