import { useState } from 'react'
import { Link } from 'wouter'
import { useMay } from '../../api/caller.ts'
import { api, take } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { Empty } from '../../parts/empty.tsx'
import { ErrorNote } from '../../parts/error-note.tsx'
import { Loaded } from '../../parts/loading.tsx'
import { Revealed } from '../../parts/reveal.tsx'
import { When } from '../../parts/when.tsx'
import { t } from '../../text/text.ts'
import { MoveLabel } from './move-label.tsx'
import { Moves } from './moves.tsx'
import { type Releases, shareOf, useReleases, type Version } from './use-releases.ts'

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
  readonly version: Version
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
