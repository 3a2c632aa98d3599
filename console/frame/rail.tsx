import { Link, useLocation } from 'wouter'
import { useCaller } from '../api/caller.ts'
import { Icon } from '../parts/icons.tsx'
import { t } from '../text/text.ts'
import { useCounts } from './counts.ts'
import { openKeys } from './keys.tsx'
import { authorPlaces, type Place, workPlaces } from './places.ts'

/** Where one can go, and how much waits there. */
export function Rail () {
  const author = useOpenPlaces(authorPlaces())
  const work = useOpenPlaces(workPlaces())
  const counts = useCounts()
  const [path] = useLocation()
  return (
    <nav className='rail' aria-label={t.screens}>
      <div className='brand'><Icon name='brand' />ai-prompt-shell</div>
      {author.length > 0 && <h3>{t.author}</h3>}
      {author.map(place => <PlaceLink
        key={place.path}
        place={place}
        path={path}
        count={counts[place.path]}
                           />)}
      {work.length > 0 && <h3>{t.work}</h3>}
      {work.map(place => <PlaceLink
        key={place.path}
        place={place}
        path={path}
        count={counts[place.path]}
                         />)}
      <Link href='/more' className='first more' aria-current={path === '/more' ? 'page' : undefined}><Icon name='more' /><span>{t.more}</span></Link>
      <div className='foot'><button type='button' className='plain-text' onClick={openKeys}>{t.keys} <kbd>?</kbd></button></div>
    </nav>
  )
}

function PlaceLink ({ place: { path, name, icon, isFirst }, path: current, count }: {
  readonly place: Place
  readonly path: string
  readonly count: { readonly n: number, readonly tone: string } | undefined
}) {
  return (
    <Link href={path} className={isFirst ? 'first' : ''} aria-current={isWithin(current, path) ? 'page' : undefined}>
      <Icon name={icon} />
      <span>{name}</span>
      {count !== undefined && count.n > 0 && <span className={`count ${count.tone}`}>{count.n}</span>}
    </Link>
  )
}

/** Whether an address belongs to a place; a terminal belongs to the targets. */
function isWithin (address: string, path: string): boolean {
  return address === path || address.startsWith(`${path}/`) || (path === '/targets' && address.startsWith('/terminals/'))
}

/** The places that are open to the caller. */
export function useOpenPlaces (places: readonly Place[]): readonly Place[] {
  const roles: readonly string[] = useCaller()?.roles ?? []
  return places.filter(({ roles: wanted }) => roles.includes('admin') || wanted.some(role => roles.includes(role)))
}
