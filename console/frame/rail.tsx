import { Link, useLocation } from 'wouter'
import { useCaller } from '../api/caller.ts'
import { Icon } from '../parts/icons.tsx'
import { t } from '../text/text.ts'
import { useCounts } from './counts.ts'
import { openKeys } from './keys.tsx'
import { authorPlaces, type Place, workPlaces } from './places.ts'

/** The rail: links to all screens that the caller may open, each with the number of things that wait there. */
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

/** Whether the page at an address belongs to the link with this path. The page of a terminal belongs to the link to the targets. */
function isWithin (address: string, path: string): boolean {
  return address === path || address.startsWith(`${path}/`) || (path === '/targets' && address.startsWith('/terminals/'))
}

/** The links to the screens that the caller may open. */
export function useOpenPlaces (places: readonly Place[]): readonly Place[] {
  const roles: readonly string[] = useCaller()?.roles ?? []
  return places.filter(({ roles: wanted }) => roles.includes('admin') || wanted.some(role => roles.includes(role)))
}
