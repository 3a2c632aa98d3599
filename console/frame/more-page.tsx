import { Link } from 'wouter'
import { Icon } from '../parts/icons.tsx'
import { PageTitle } from '../parts/page-title.tsx'
import { t } from '../text/text.ts'
import { authorPlaces, workPlaces } from './places.ts'
import { useOpenPlaces } from './rail.tsx'

/** All places, for windows whose bottom has room for a few. */
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
