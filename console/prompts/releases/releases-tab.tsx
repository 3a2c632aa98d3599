import { useState } from 'react'
import { Link } from 'wouter'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Icon } from '../../parts/icons.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { When } from '../../parts/when.tsx'
import { t } from '../../text/text.ts'
import { CaseList, Summary } from '../tests/case-list.tsx'
import { hasPassed, useRuns, useTests } from '../tests/use-tests.ts'
import { type Meaning, type Releases, shareOf, useReleases, wordsOf } from './use-releases.ts'

/** The tab with the versions of a prompt, the versions that its labels mean, and the moves of its labels. */
export function ReleasesTab ({ id }: { readonly id: string }) {
  const query = useReleases(id)
  const mayWrite = useMay('write')
  const [error, setError] = useState<unknown>()
  const act = async (call: () => Promise<unknown>) => {
    try {
      setError(undefined)
      await call()
      await queries.invalidateQueries({ queryKey: ['registry'] })
    } catch (failure) {
      setError(failure)
    }
  }
  const freeze = () => act(() => take(api.POST('/api/prompts/{id}/versions', { params: { path: { id } }, body: {} })))
  const restore = (n: number) => act(() => take(api.POST('/api/prompts/{id}/versions/{n}/restore', { params: { path: { id, n } }, body: {} })))
  return (
    <Loaded query={query}>
      {({ value, tag }) => (
        <div className='stack'>
          {error !== undefined && <ErrorNote error={error} />}
          <div className='split aside'>
            <div className='stack'>
              {value.versions.length === 0
                ? <Empty title={t.versionsNone}>{t.versionsNoneNext}</Empty>
                : <Versions id={id} releases={value} restore={mayWrite ? n => { void restore(n) } : undefined} />}
              {mayWrite && <div><button type='button' className='button' onClick={() => { void freeze() }}>{t.freeze}</button></div>}
            </div>
            {mayWrite && value.versions.length > 0 && <MoveLabel id={id} releases={value} tag={tag} />}
          </div>
          <Moves moves={value.moves} />
        </div>
      )}
    </Loaded>
  )
}

function Versions ({ id, releases, restore }: { readonly id: string, readonly releases: Releases, readonly restore: ((n: number) => void) | undefined }) {
  const newestFirst = [...releases.versions].sort((a, b) => b.n - a.n)
  return (
    <div className='panel'>
      <table>
        <thead>
          <tr>
            <th scope='col' className='right'>{t.version}</th>
            <th scope='col'>{t.note}</th>
            <th scope='col'>{t.labels}</th>
            <th scope='col' className='wide'>{t.made}</th>
            <th scope='col'><span className='unseen'>{t.actions}</span></th>
          </tr>
        </thead>
        <tbody>
          {newestFirst.map(version => <VersionRow
            key={version.n}
            id={id}
            version={version}
            releases={releases}
            restore={restore}
                                      />)}
        </tbody>
      </table>
    </div>
  )
}

function VersionRow ({ id, version: { n, note, source, from, by, at }, releases, restore }: {
  readonly id: string
  readonly version: Releases['versions'][number]
  readonly releases: Releases
  readonly restore: ((n: number) => void) | undefined
}) {
  const isLatest = releases.latest === n
  const labels = Object.entries(releases.labels).flatMap(([label, meaning]) => {
    const share = shareOf(meaning, n)
    return share === undefined ? [] : [{ label, share }]
  })
  return (
    <tr>
      <td className='right num'>{n}</td>
      <td className='wrap'><Revealed text={note ?? (from === undefined ? source ?? '' : t.restoredFrom(from))} /></td>
      <td>
        {labels.map(({ label, share }) => (
          <span key={label} className={label === 'production' ? 'chip accent' : 'chip'}>
            {label}
            {share < 100 && ` ${share} %`}
          </span>
        ))}
        {isLatest && <span className='chip'>latest</span>}
      </td>
      <td className='wide quiet'>{by !== '' && `${by}, `}<When at={at} /></td>
      <td className='right'>
        <Link className='button plain small' href={`/prompts/${encodeURIComponent(id)}?tab=compare&a=${n}&b=draft`}>{t.compare}</Link>
        {restore !== undefined && !isLatest && <button type='button' className='button plain small' onClick={() => { restore(n) }}>{t.restore}</button>}
      </td>
    </tr>
  )
}

/** Lists the recorded moves of a prompt's labels, the latest first, each with its time, its author, the versions before and after, and its note. */
function Moves ({ moves }: { readonly moves: Releases['moves'] }) {
  if (moves.length === 0) return null
  return (
    <section>
      <h2 className='above'>{t.moves}</h2>
      <div className='panel'>
        <table>
          <thead>
            <tr>
              <th scope='col'>{t.changed}</th>
              <th scope='col'>{t.by}</th>
              <th scope='col'>{t.label}</th>
              <th scope='col'>{t.version}</th>
              <th scope='col' className='wide'>{t.note}</th>
            </tr>
          </thead>
          <tbody>
            {moves.map(({ label, from, to, at, by, note }, index) => (
              <tr key={index}>
                <td className='quiet'><When at={at} /></td>
                <td>{by}</td>
                <td><span className='chip'>{label}</span></td>
                <td className='num'>{wordsOf(from)} → {wordsOf(to)}</td>
                <td className='wide quiet wrap'><Revealed text={note ?? ''} /></td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** The label that most callers use. The user has to type its name before it is moved. */
const TYPED = 'production'

/** The form that makes a label mean another version, for all callers or for a share of them. */
function MoveLabel ({ id, releases, tag }: { readonly id: string, readonly releases: Releases, readonly tag: string | undefined }) {
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
      const body = { version, note: note === '' ? undefined : note }
      await take(api.PUT('/api/prompts/{id}/labels/{label}', { params: { path: { id, label }, header }, body }))
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

/** Runs the tests of a prompt on one version, before a label is moved to this version. Shows nothing for a prompt without tests. */
function VersionTests ({ id, version }: { readonly id: string, readonly version: number }) {
  const cases = useTests(id).data?.value ?? []
  const { outcomes, run, isRunning } = useRuns(id, version)
  if (cases.length === 0) return null
  const failed = cases.filter((_, index) => hasPassed(outcomes.get(index)) === false)
  return (
    <div className='stack tight'>
      <div className='row wrap-row'>
        <button type='button' className='button small' disabled={isRunning} onClick={() => { void run(cases) }}>
          <Icon name='play' />
          {t.testVersion(version)}
        </button>
        <Summary cases={cases} outcomes={outcomes} />
      </div>
      {failed.length > 0 && <CaseList cases={cases} outcomes={outcomes} />}
    </div>
  )
}
