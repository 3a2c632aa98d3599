import { Link } from 'wouter'
import { Icon } from '../parts/icons.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'
import { authorPlaces, workPlaces } from './places.ts'
import { useOpenPlaces } from './rail.tsx'

/** The page with links to all screens, for narrow windows: the bottom of these has room for a few links only. */
export function MorePage () {
  const places = useOpenPlaces([...authorPlaces(), ...workPlaces()])
  return (
    <>
      <PageTitle title={t.more} />
      <ul className='panel'>
        {places.map(({ path, name, icon }) => <li key={path} className='item'><Link href={path} className='row'><Icon name={icon} />{name}</Link></li>)}
      </ul>
    </>
  )
}
