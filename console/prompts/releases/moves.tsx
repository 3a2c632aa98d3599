import { Revealed } from '../../parts/reveal.tsx'
import { When } from '../../parts/when.tsx'
import { t } from '../../text/text.ts'
import { type Releases, wordsOf } from './use-releases.ts'

/** Lists the recorded moves of a prompt's labels, the latest first, each with its time, its author, the versions before and after, and its note. */
export function Moves ({ moves }: { readonly moves: Releases['moves'] }) {
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
